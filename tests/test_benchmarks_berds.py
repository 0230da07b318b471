"""How the detector of perspectives is packaged: four bits, eight bits, who reads whom."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pnyx.judging.students.reader import MATRICES, read_matrices
from pnyx.models.embed.encoder import open_session

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "lab" / "berds"
BLOCK = 128

pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="the benchmarks are not in this copy")


@pytest.fixture
def bench(scripts):
    return scripts(FOLDER)


def four_bits(names, inner, columns, seed):
    """Return nodes and tensors that multiply "x" by matrices of four bits, and the matrices."""
    from onnx import helper, numpy_helper

    rng, nodes, tensors, matrices = np.random.default_rng(seed), [], [], []
    blocks = inner // BLOCK
    for name in names:
        q = rng.integers(0, 16, (columns, blocks, BLOCK), dtype=np.uint8)
        zeros = rng.integers(5, 11, (columns, blocks), dtype=np.uint8)
        scales = rng.uniform(0.01, 0.03, (columns, blocks)).astype(np.float32)
        matrices.append(
            ((q.astype(np.float32) - zeros[..., None]) * scales[..., None]).reshape(columns, inner)
        )
        packed = q[..., 0::2] | (q[..., 1::2] << 4)
        tensors += [
            numpy_helper.from_array(value, f"{name}_{part}")
            for part, value in (
                ("w", packed),
                ("s", scales.reshape(-1)),
                ("z", (zeros[:, 0::2] | (zeros[:, 1::2] << 4)).reshape(-1)),
            )
        ]
        nodes.append(
            helper.make_node(
                "MatMulNBits",
                ["x", f"{name}_w", f"{name}_s", f"{name}_z"],
                [name],
                domain="com.microsoft",
                K=inner,
                N=columns,
                bits=4,
                block_size=BLOCK,
            )
        )
    return nodes, tensors, matrices


@pytest.mark.train
def test_products_in_eight_bits_are_those_of_the_weights_of_four(bench, tmp_path):
    pytest.importorskip("onnx")
    from onnx import TensorProto, helper
    from safetensors.numpy import save_file

    inner, columns = 2 * BLOCK, 24
    nodes, tensors, matrices = four_bits(["a", "b"], inner, columns, 0)
    graph = helper.make_graph(
        nodes,
        "two",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, None, inner])],
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, [1, None, columns]) for n in "ab"],
        tensors,
    )
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
    save_file(bench("eight_bits").multiply_in_eight_bits(model), tmp_path / MATRICES)
    kinds = [node.op_type for node in model.graph.node]
    assert "MatMulNBits" not in kinds
    assert kinds.count("RoundRows") == 1  # both read the same input
    session = open_session(model.SerializeToString(), read_matrices(tmp_path))
    x = np.random.default_rng(1).normal(size=(1, 7, inner)).astype(np.float32)
    x[0, 3] *= 1000  # a token's scale is its own: it blurs no other
    x[0, 4] = 0
    for found, matrix in zip(session.run(["a", "b"], {"x": x}), matrices, strict=True):
        wanted = x[0] @ matrix.T
        apart = np.linalg.norm(found[0] - wanted, axis=1)
        size = np.linalg.norm(wanted, axis=1)
        assert (apart <= 0.02 * size).all()
        assert not found[0, 4].any()


@pytest.mark.train
def test_four_bits_of_a_block_reach_from_its_least_to_its_greatest_weight(bench):
    torch = pytest.importorskip("torch")
    rounded = bench("four_bits").rounded
    # By hand: from -5 to 10 there are 15 steps of 1, and zero is one of them.
    row = torch.zeros(1, BLOCK)
    row[0, :4] = torch.tensor([-5.0, 10.0, 0.4, 2.6])
    assert rounded(row)[0, :5].tolist() == [-5, 10, 0, 3, 0]
    weights = torch.randn(6, 2 * BLOCK, generator=torch.Generator().manual_seed(0))
    once = rounded(weights)
    blocks = weights.view(6, 2, BLOCK)
    step = (blocks.amax(-1) - blocks.amin(-1)) / 15
    assert ((once - weights).view(6, 2, BLOCK).abs().amax(-1) <= step * 1.01).all()
    assert torch.allclose(rounded(once), once, atol=1e-5)
    assert all(len(set(block.tolist())) <= 16 for block in once.view(12, BLOCK))


@pytest.mark.train
def test_to_each_statement_it_is_as_if_it_stood_alone_behind_the_passage(bench):
    torch = pytest.importorskip("torch")
    reader, mpnet = bench("reader"), bench("mpnet")
    torch.manual_seed(0)
    network = reader.Reader(mpnet.Mpnet(words=50, layers=2)).eval()
    passage, first, second = [0, 7, 8, 9, 2], [0, 11, 12, 2], [0, 21, 22, 23, 2]
    with torch.no_grad():
        both = network(*reader.pack([(passage, [first, second])]))
        alone = [network(*reader.pack([(passage, [one])]))[0] for one in (first, second)]
        other = network(*reader.pack([([0, 31, 32, 33, 2], [first])]))[0]
        padded = network(*reader.pack([(passage, [first]), (passage * 3, [second])]))[0]
    assert torch.allclose(both, torch.stack(alone), atol=1e-5)
    assert torch.allclose(padded, alone[0], atol=1e-5)
    assert not torch.allclose(other, alone[0], atol=1e-3)


def test_of_two_statements_the_right_one_must_score_higher(bench):
    detection = bench("detection")
    rows = [("t", True), ("t", False), ("u", True), ("u", False), ("v", False), ("v", False)]
    pairs = [detection.Pair(text, "s", label, "g", "own") for text, label in rows]
    # t is right, u is a tie and thus wrong, of v nothing is in support.
    assert detection.right_sides(pairs, np.array([0.9, 0.1, 0.5, 0.5, 0.3, 0.2])) == (1, 2)


@pytest.mark.train
def test_the_packaged_network_is_read_back_as_it_answers(bench):
    pytest.importorskip("torch")
    pytest.importorskip("onnx")
    from pnyx.judging.questions import Support
    from pnyx.judging.students.reader import open_reader

    folder = ROOT / "src/pnyx/models/weights/perspectives"
    network = bench("packaged_reader").load_reader(folder / "model.onnx")
    reader, rounding = bench("reader"), bench("four_bits")
    words = reader.Words((folder / "tokenizer.json").read_bytes())
    text = "Testing on animals causes needless pain, and its results rarely carry over to people."
    asked = ["Animal testing should be banned.", "Animal testing should not be banned.",
             "Bananas are healthy."]  # fmt: skip
    found = reader.predict(network, words, [(text, statement) for statement in asked])
    wanted = open_reader(folder)([Support("", text, statement) for statement in asked])
    assert found == pytest.approx(wanted, abs=0.5)  # products in eight bits
    matrix = network.body.layers[0].up.weight.data
    assert np.allclose(rounding.rounded(matrix).numpy(), matrix.numpy(), atol=1e-6)


@pytest.mark.train
def test_of_two_statements_about_a_passage_of_a_side_the_first_is_the_right_one(bench):
    torch = pytest.importorskip("torch")
    debates, siding = bench("debate_sets"), bench("side_steps")
    topic = debates.Topic("This House would ban golf.", "This House would not ban golf.", "idebate")
    unclear = debates.Topic("Golf or not.", "", "idebate")
    passages = [
        debates.Passage(f"word{side}", "a", source, side)
        for source in siding.SHARES
        for side in (1, -1)
    ]
    passages += [debates.Passage("word0", "b", "idebate", 1)]

    class Words:
        """Each text is its own token."""

        passage = staticmethod(lambda text: [100 + int(text.removeprefix("word"))])
        statement = staticmethod(lambda text: [200 + ("not" in text), "House" in text])

    def steps(seed):
        feed = siding.SideFeed({"a": topic, "b": unclear}, passages, Words, seed, tokens=50)
        stream = feed.steps()
        return [next(stream) for _ in range(6)]

    first = steps(0)
    for one, other in zip(first, steps(0), strict=True):
        assert all(map(torch.equal, one.packed, other.packed))
    wordings = set()
    for step in first:
        ids, _, texts, asked = step.packed
        assert step.paired
        assert step.relations.tolist() == [0, 1] * (len(asked) // 2)
        for row, number in zip(ids.tolist(), texts.tolist(), strict=True):
            told = {n: row[number.index(n)] for n in (0, 1, 2)}
            assert told[0] in (99, 101)  # never of the topic without a negation
            assert (told[1], told[2]) == ((200, 201) if told[0] == 101 else (201, 200))
            wordings.add(row[number.index(1) + 1])
    assert wordings == {0, 1}  # "We should" and "This House would"


@pytest.mark.train
def test_the_margin_is_by_how_much_the_first_of_two_is_supported_more(bench):
    torch = pytest.importorskip("torch")
    learning = bench("reader_loss")
    odds = torch.tensor([[2.0, 0, 0], [0, 0, 0], [0, 1, 1], [3, 1, 1]])
    found = learning.margins(odds)
    assert found.tolist() == pytest.approx([2, -3], abs=1e-6)


def test_the_rate_rises_falls_and_never_leaves_its_bounds(bench):
    pytest.importorskip("torch")
    shares = [bench("distillation").rate_share(done / 500) for done in range(501)]
    assert all(0 <= share <= 1 for share in shares)
    top = shares.index(max(shares))
    assert shares == [*sorted(shares[:top]), *sorted(shares[top:], reverse=True)]

import com.sun.management.OperatingSystemMXBean;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.OutputStream;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import org.apache.lucene.analysis.Analyzer;
import org.apache.lucene.analysis.TokenStream;
import org.apache.lucene.analysis.en.EnglishAnalyzer;
import org.apache.lucene.analysis.tokenattributes.CharTermAttribute;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.Field;
import org.apache.lucene.document.FieldType;
import org.apache.lucene.document.FloatDocValuesField;
import org.apache.lucene.document.NumericDocValuesField;
import org.apache.lucene.document.StoredField;
import org.apache.lucene.index.DirectoryReader;
import org.apache.lucene.index.IndexOptions;
import org.apache.lucene.index.IndexWriter;
import org.apache.lucene.index.IndexWriterConfig;
import org.apache.lucene.index.LogDocMergePolicy;
import org.apache.lucene.index.Term;
import org.apache.lucene.queries.function.FunctionScoreQuery;
import org.apache.lucene.search.BooleanClause;
import org.apache.lucene.search.BooleanQuery;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.Query;
import org.apache.lucene.search.ScoreDoc;
import org.apache.lucene.search.TermQuery;
import org.apache.lucene.search.similarities.BM25Similarity;
import org.apache.lucene.search.similarities.LMDirichletSimilarity;
import org.apache.lucene.search.similarities.Similarity;
import org.apache.lucene.store.Directory;
import org.apache.lucene.store.FSDirectory;
import org.apache.lucene.util.Version;

/**
 * Lucene as the benchmarks ask it; the last line of output is JSON.
 *
 * <pre>
 * Harness index DOCUMENTS FEATURES INDEX
 * Harness search INDEX QUESTIONS COSINES RANKINGS dirichlet|bm25|touche TOP WARM-UPS wC wQ
 * </pre>
 *
 * FEATURES may be "-", and so may COSINES unless the model is touche. RANKINGS gets, for each
 * question, the number of hits and then document and score of each, little-endian. The first
 * WARM-UPS questions are asked twice, then each of the others once: CPU milliseconds of the asking
 * thread; then these by two threads at once. With WARM-UPS "-" nothing is timed.
 */
public final class Harness {
  private static final String FIELD = "text";

  public static void main(String[] arguments) throws Exception {
    Locale.setDefault(Locale.ROOT);
    if (arguments[0].equals("index")) {
      index(arguments);
    } else {
      search(arguments);
    }
  }

  private static void index(String[] arguments) throws Exception {
    FieldType words = new FieldType();
    words.setTokenized(true);
    words.setIndexOptions(IndexOptions.DOCS_AND_FREQS); // no positions: no engine here keeps any
    words.freeze();
    IndexWriterConfig config = new IndexWriterConfig(new EnglishAnalyzer()).setRAMBufferSizeMB(256);
    config.setMergePolicy(new LogDocMergePolicy()); // keeps documents in order, so ties too
    boolean features = !arguments[2].equals("-");
    double wall = wallSeconds();
    double merging;
    try (Directory directory = FSDirectory.open(Path.of(arguments[3]));
        IndexWriter writer = new IndexWriter(directory, config);
        BufferedReader documents = Files.newBufferedReader(Path.of(arguments[1]));
        BufferedReader rows =
            Files.newBufferedReader(Path.of(features ? arguments[2] : arguments[1]))) {
      for (String line; (line = documents.readLine()) != null; ) {
        int space = line.indexOf(' ');
        Document document = new Document();
        document.add(new StoredField("id", line.substring(0, space)));
        document.add(new Field(FIELD, line.substring(space + 1), words));
        if (features) {
          String[] row = rows.readLine().split(" ");
          document.add(new NumericDocValuesField("cluster", Long.parseLong(row[0])));
          document.add(new FloatDocValuesField("quality", Float.parseFloat(row[1])));
        }
        writer.addDocument(document);
      }
      merging = wallSeconds();
      writer.forceMerge(1);
      writer.commit();
    }
    double end = wallSeconds();
    double cpu = processCpuSeconds();
    checkOrder(arguments[3]);
    System.out.printf(
        "{\"wall\": %.3f, \"merge_wall\": %.3f, \"cpu\": %.3f, \"version\": \"%s\", \"java\": \"%s\", %s}%n",
        end - wall,
        end - merging,
        cpu,
        Version.LATEST,
        System.getProperty("java.version"),
        memory());
  }

  /** Documents must be numbered as they came: rankings are compared by number. */
  private static void checkOrder(String path) throws Exception {
    try (DirectoryReader reader = DirectoryReader.open(FSDirectory.open(Path.of(path)))) {
      for (int number = 0; number < reader.maxDoc(); number++) {
        if (!reader.document(number).get("id").equals(Integer.toString(number))) {
          throw new IllegalStateException("document " + number + " is out of order");
        }
      }
    }
  }

  private static void search(String[] arguments) throws Exception {
    String model = arguments[5];
    int top = Integer.parseInt(arguments[6]);
    double opening = wallSeconds();
    DirectoryReader reader = DirectoryReader.open(FSDirectory.open(Path.of(arguments[1])));
    IndexSearcher searcher = new IndexSearcher(reader);
    double opened = wallSeconds() - opening;
    Similarity similarity =
        model.equals("bm25") ? new BM25Similarity(1.2f, 0.75f) : new LMDirichletSimilarity(2000f);
    searcher.setSimilarity(similarity);
    searcher.setQueryCache(null); // every question is asked several times
    List<String> questions = Files.readAllLines(Path.of(arguments[2]));
    double[][] factors = model.equals("touche") ? readFactors(arguments) : null;
    double wQ = Double.parseDouble(arguments[9]);
    List<Query> queries = new ArrayList<>();
    try (Analyzer analyzer = new EnglishAnalyzer()) {
      for (int at = 0; at < questions.size(); at++) {
        double[] own = factors == null ? null : factors[at];
        queries.add(query(analyzer, questions.get(at), own, wQ));
      }
    }
    String timed = arguments[7].equals("-") ? "" : time(searcher, queries, arguments[7], top);
    try (OutputStream stream = Files.newOutputStream(Path.of(arguments[4]))) {
      for (Query query : queries) {
        write(stream, searcher.search(query, top).scoreDocs);
      }
    }
    System.out.printf("{%s\"open_ms\": %.3f}%n", timed, 1000 * opened);
  }

  /** Return times, memory and throughput as members of a JSON object, each with a comma. */
  private static String time(IndexSearcher searcher, List<Query> queries, String warmUps, int top)
      throws Exception {
    int first = Integer.parseInt(warmUps);
    for (int turn = 0; turn < 2; turn++) {
      for (Query query : queries.subList(0, first)) {
        searcher.search(query, top);
      }
    }
    var threads = ManagementFactory.getThreadMXBean();
    List<Query> timed = queries.subList(first, queries.size());
    double[] times = new double[timed.size()];
    double process = processCpuSeconds();
    for (int at = 0; at < times.length; at++) {
      long started = threads.getCurrentThreadCpuTime();
      searcher.search(timed.get(at), top);
      times[at] = (threads.getCurrentThreadCpuTime() - started) / 1e6;
    }
    process = 1000 * (processCpuSeconds() - process) / times.length;
    String memory = memory();
    return String.format(
        "\"times\": %s, \"process_ms\": %.4f, %s, \"qps\": %.2f, ",
        Arrays.toString(times), process, memory, throughput(searcher, timed, top));
  }

  private static Query query(Analyzer analyzer, String question, double[] factors, double wQ)
      throws IOException {
    BooleanQuery.Builder builder = new BooleanQuery.Builder();
    try (TokenStream stream = analyzer.tokenStream(FIELD, question)) {
      CharTermAttribute term = stream.addAttribute(CharTermAttribute.class);
      stream.reset();
      while (stream.incrementToken()) {
        Query one = new TermQuery(new Term(FIELD, term.toString()));
        builder.add(one, BooleanClause.Occur.SHOULD);
      }
      stream.end();
    }
    Query query = builder.build();
    return factors == null ? query : new FunctionScoreQuery(query, new Boost(factors, wQ));
  }

  /** Return 1 + wC C for each question and topic. */
  private static double[][] readFactors(String[] arguments) throws Exception {
    double wC = Double.parseDouble(arguments[8]);
    List<double[]> rows = new ArrayList<>();
    for (String line : Files.readAllLines(Path.of(arguments[3]))) {
      rows.add(
          Arrays.stream(line.split(" ")).mapToDouble(c -> 1 + wC * Double.parseDouble(c)).toArray());
    }
    return rows.toArray(new double[0][]);
  }

  /** Return questions a second of two threads, each asking all. */
  private static double throughput(IndexSearcher searcher, List<Query> queries, int top)
      throws Exception {
    Thread[] workers = new Thread[2];
    double started = wallSeconds();
    for (int worker = 0; worker < workers.length; worker++) {
      workers[worker] =
          new Thread(
              () -> {
                try {
                  for (Query query : queries) {
                    searcher.search(query, top);
                  }
                } catch (Exception error) {
                  throw new IllegalStateException(error);
                }
              });
      workers[worker].start();
    }
    for (Thread worker : workers) {
      worker.join();
    }
    return workers.length * queries.size() / (wallSeconds() - started);
  }

  private static void write(OutputStream stream, ScoreDoc[] hits) throws Exception {
    ByteBuffer bytes = ByteBuffer.allocate(4 + 8 * hits.length).order(ByteOrder.LITTLE_ENDIAN);
    bytes.putInt(hits.length);
    for (ScoreDoc hit : hits) {
      bytes.putInt(hit.doc).putFloat(hit.score);
    }
    stream.write(bytes.array());
  }

  /** Return this process's resident memory as members of a JSON object; Linux only. */
  private static String memory() throws Exception {
    double resident = 0;
    double anonymous = 0;
    double peak = 0;
    for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
      String[] words = line.split("\\s+");
      resident += words[0].equals("VmRSS:") ? Long.parseLong(words[1]) / 1024.0 : 0;
      peak += words[0].equals("VmHWM:") ? Long.parseLong(words[1]) / 1024.0 : 0;
      anonymous += words[0].equals("RssAnon:") ? Long.parseLong(words[1]) / 1024.0 : 0;
    }
    return String.format(
        "\"rss_mb\": %.1f, \"anon_mb\": %.1f, \"peak_mb\": %.1f", resident, anonymous, peak);
  }

  private static double wallSeconds() {
    return System.nanoTime() / 1e9;
  }

  private static double processCpuSeconds() {
    var system = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
    return system.getProcessCpuTime() / 1e9;
  }
}

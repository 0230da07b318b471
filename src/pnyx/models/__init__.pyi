"""The public names of this room, each with its home."""

from .chat.endpoint import ChatEndpoint
from .chat.ledger import Ledger
from .chat.open_endpoint import endpoint_from
from .chat.pool import EndpointPool
from .chat.prices import Price, price_of, read_prices
from .embed.embedder import Embedder, embedder_from
from .embed.encoder import Encoder, load_encoder
from .local.model import LocalModel, open_local

__all__ = [
    "ChatEndpoint",
    "Embedder",
    "Encoder",
    "EndpointPool",
    "Ledger",
    "LocalModel",
    "Price",
    "embedder_from",
    "endpoint_from",
    "load_encoder",
    "open_local",
    "price_of",
    "read_prices",
]

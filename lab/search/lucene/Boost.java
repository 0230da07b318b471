import java.io.IOException;
import org.apache.lucene.index.DocValues;
import org.apache.lucene.index.LeafReaderContext;
import org.apache.lucene.index.NumericDocValues;
import org.apache.lucene.search.DoubleValues;
import org.apache.lucene.search.DoubleValuesSource;
import org.apache.lucene.search.IndexSearcher;

/** The Touché score of a document: its relevance times the factors of its topic and its quality. */
final class Boost extends DoubleValuesSource {
  private final double[] factors;
  private final double qualityWeight;

  /**
   * @param factors 1 + wC C, of each topic
   * @param qualityWeight wQ
   */
  Boost(double[] factors, double qualityWeight) {
    this.factors = factors;
    this.qualityWeight = qualityWeight;
  }

  @Override
  public DoubleValues getValues(LeafReaderContext context, DoubleValues scores)
      throws IOException {
    NumericDocValues cluster = DocValues.getNumeric(context.reader(), "cluster");
    NumericDocValues quality = DocValues.getNumeric(context.reader(), "quality");
    return new DoubleValues() {
      @Override
      public double doubleValue() throws IOException {
        double q = Float.intBitsToFloat((int) quality.longValue());
        return scores.doubleValue() * factors[(int) cluster.longValue()] * (1 + qualityWeight * q);
      }

      @Override
      public boolean advanceExact(int document) throws IOException {
        return scores.advanceExact(document)
            && cluster.advanceExact(document)
            && quality.advanceExact(document);
      }
    };
  }

  @Override
  public boolean needsScores() {
    return true;
  }

  @Override
  public DoubleValuesSource rewrite(IndexSearcher searcher) {
    return this;
  }

  @Override
  public boolean isCacheable(LeafReaderContext context) {
    return false;
  }

  @Override
  public int hashCode() {
    return System.identityHashCode(this);
  }

  @Override
  public boolean equals(Object other) {
    return this == other;
  }

  @Override
  public String toString() {
    return "Touche";
  }
}

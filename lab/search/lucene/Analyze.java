import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.apache.lucene.analysis.Analyzer;
import org.apache.lucene.analysis.TokenStream;
import org.apache.lucene.analysis.en.EnglishAnalyzer;
import org.apache.lucene.analysis.tokenattributes.CharTermAttribute;
import org.apache.lucene.util.Version;

/**
 * The terms that Lucene's EnglishAnalyzer makes of texts; the last line of output is JSON.
 *
 * <pre>
 * Analyze TEXTS TERMS
 * </pre>
 *
 * TEXTS holds each text as its length in bytes and its UTF-8. TERMS gets, for each text, the number
 * of terms and then each in the same form. Numbers are big-endian.
 */
public final class Analyze {
  public static void main(String[] arguments) throws Exception {
    Locale.setDefault(Locale.ROOT);
    long count = 0;
    try (DataInputStream texts = open(arguments[0]);
        DataOutputStream out =
            new DataOutputStream(
                new BufferedOutputStream(Files.newOutputStream(Path.of(arguments[1]))));
        Analyzer analyzer = new EnglishAnalyzer()) {
      for (byte[] text; (text = next(texts)) != null; count++) {
        List<byte[]> terms = terms(analyzer, new String(text, StandardCharsets.UTF_8));
        out.writeInt(terms.size());
        for (byte[] term : terms) {
          out.writeInt(term.length);
          out.write(term);
        }
      }
    }
    System.out.printf(
        "{\"texts\": %d, \"version\": \"%s\", \"java\": \"%s\"}%n",
        count, Version.LATEST, System.getProperty("java.version"));
  }

  private static DataInputStream open(String path) throws Exception {
    return new DataInputStream(new BufferedInputStream(Files.newInputStream(Path.of(path))));
  }

  private static byte[] next(DataInputStream texts) throws Exception {
    int length;
    try {
      length = texts.readInt();
    } catch (EOFException end) {
      return null;
    }
    byte[] text = new byte[length];
    texts.readFully(text);
    return text;
  }

  private static List<byte[]> terms(Analyzer analyzer, String text) throws Exception {
    List<byte[]> terms = new ArrayList<>();
    try (TokenStream stream = analyzer.tokenStream("text", text)) {
      CharTermAttribute term = stream.addAttribute(CharTermAttribute.class);
      stream.reset();
      while (stream.incrementToken()) {
        terms.add(term.toString().getBytes(StandardCharsets.UTF_8));
      }
      stream.end();
    }
    return terms;
  }
}

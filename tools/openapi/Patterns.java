import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.regex.Pattern;

/**
 * Reads lines from standard input, each with a pattern and a text in base64. Prints for each line whether the pattern
 * matches the text.
 */
public class Patterns {
  public static void main(String[] args) throws Exception {
    var lines = new String(System.in.readAllBytes(), StandardCharsets.UTF_8).split("\n");
    var answer = new StringBuilder();
    for (var line : lines) {
      var pair = line.split(" ", -1);
      answer.append(Pattern.compile(plain(pair[0])).matcher(plain(pair[1])).find() ? "1" : "0").append('\n');
    }
    System.out.print(answer);
  }

  private static String plain(String text) {
    return new String(Base64.getDecoder().decode(text), StandardCharsets.UTF_8);
  }
}

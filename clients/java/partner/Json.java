package partner;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Parses and writes JSON (RFC 8259). JSON values are represented as maps, lists, strings, doubles, booleans and null.
 */
final class Json {
    private static final int MAX_DEPTH = 200;
    private static final String WORD = "+-.0123456789eEtrufalsn";
    private final String text;
    private int at;

    private Json(String text) {
        this.text = text;
    }

    /** Parses a JSON text. Throws IllegalArgumentException if the text is not JSON. */
    static Object parse(String text) {
        Json json = new Json(text);
        Object value = json.value(0);
        if (json.next() != '\0' || json.at < text.length()) throw json.fault();
        return value;
    }

    private Object value(int depth) {
        if (depth > MAX_DEPTH) throw fault();
        switch (next()) {
            case '{':
                Map<String, Object> members = new LinkedHashMap<>();
                at++;
                for (boolean isFirst = true; next() != '}'; isFirst = false) {
                    if (!isFirst) expect(',');
                    String name = string();
                    expect(':');
                    members.put(name, value(depth + 1));
                }
                at++;
                return members;
            case '[':
                List<Object> items = new ArrayList<>();
                at++;
                for (boolean isFirst = true; next() != ']'; isFirst = false) {
                    if (!isFirst) expect(',');
                    items.add(value(depth + 1));
                }
                at++;
                return items;
            case '"':
                return string();
            default:
                int start = at;
                while (at < text.length() && WORD.indexOf(text.charAt(at)) >= 0) at++;
                String word = text.substring(start, at);
                if (word.equals("null")) return null;
                if (word.equals("true") || word.equals("false")) return word.equals("true");
                if (!word.matches("-?(0|[1-9][0-9]*)(\\.[0-9]+)?([eE][+-]?[0-9]+)?")) throw fault();
                return Double.valueOf(word);
        }
    }

    private String string() {
        expect('"');
        StringBuilder found = new StringBuilder();
        while (true) {
            if (at >= text.length() || text.charAt(at) < ' ') throw fault();
            char one = text.charAt(at++);
            if (one == '"') return found.toString();
            if (one != '\\') {
                found.append(one);
                continue;
            }
            char escape = at < text.length() ? text.charAt(at++) : '\0';
            int place = "\"\\/bfnrt".indexOf(escape);
            if (place >= 0) found.append("\"\\/\b\f\n\r\t".charAt(place));
            else if (escape == 'u' && at + 4 <= text.length() && text.substring(at, at + 4).matches("[0-9a-fA-F]{4}")) {
                found.append((char) Integer.parseInt(text.substring(at, at + 4), 16));
                at += 4;
            } else throw fault();
        }
    }

    /** Skips white space and returns the next character without consuming it; NUL at the end of the text. */
    private char next() {
        while (at < text.length() && " \t\r\n".indexOf(text.charAt(at)) >= 0) at++;
        return at < text.length() ? text.charAt(at) : '\0';
    }

    private void expect(char one) {
        if (next() != one) throw fault();
        at++;
    }

    private IllegalArgumentException fault() {
        return new IllegalArgumentException("The text is not JSON at character " + at + ".");
    }

    static String write(Object value) {
        if (value instanceof Map<?, ?> members) {
            List<String> all = new ArrayList<>();
            members.forEach((name, member) -> all.add(write(name) + ":" + write(member)));
            return "{" + String.join(",", all) + "}";
        }
        if (value instanceof Iterable<?> items) {
            List<String> all = new ArrayList<>();
            items.forEach(item -> all.add(write(item)));
            return "[" + String.join(",", all) + "]";
        }
        if (!(value instanceof String string)) return String.valueOf(value);
        StringBuilder written = new StringBuilder("\"");
        for (char one : string.toCharArray())
            if (one == '"' || one == '\\') written.append('\\').append(one);
            else if (one < ' ') written.append(String.format("\\u%04x", (int) one));
            else written.append(one);
        return written.append('"').toString();
    }
}

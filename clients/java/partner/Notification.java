package partner;

import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.time.Instant;
import java.time.format.DateTimeParseException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/**
 * A genuine notification. `key` identifies the booking within which `sequence` counts, and `record` identifies the
 * eligibility record. `at` is the time of the event, in seconds since 1970. `digest` is the contribution to the digest
 * of the time step.
 */
public record Notification(String id, String key, String record, long sequence, long at, BigInteger digest, Map<?, ?> members) {
    /** Thrown by your work when it does not know the candidate or the exam. The response is then 400. */
    public static final class UnknownRecord extends RuntimeException {}

    /** Thrown for a request that is not from the service, or is too old. Its message is one of four codes. */
    public static final class InvalidSignature extends RuntimeException {
        InvalidSignature(String code) {
            super(code);
        }
    }

    /** Thrown for a body that comes from the service but is not a notification. */
    public static final class Malformed extends RuntimeException {
        Malformed(String message) {
            super(message);
        }
    }

    /**
     * Verifies a signature of Standard Webhooks v1 with one of several secrets. The names of the headers are in lower
     * case.
     */
    public static void verify(Map<String, String> headers, byte[] body, List<String> secrets, long toleranceS, long nowS) {
        for (String name : List.of("webhook-id", "webhook-timestamp", "webhook-signature"))
            if (headers.getOrDefault(name, "").isEmpty()) throw new InvalidSignature("header_missing");
        String timestamp = headers.get("webhook-timestamp");
        if (!timestamp.matches("[0-9]{1,12}")) throw new InvalidSignature("timestamp_invalid");
        if (Math.abs(nowS - Long.parseLong(timestamp)) > toleranceS) throw new InvalidSignature("timestamp_too_far");
        boolean isRight = false;
        try {
            for (String secret : secrets) {
                Mac mac = Mac.getInstance("HmacSHA256");
                mac.init(new SecretKeySpec(Base64.getDecoder().decode(secret.substring("whsec_".length())), "HmacSHA256"));
                mac.update((headers.get("webhook-id") + "." + timestamp + ".").getBytes(StandardCharsets.UTF_8));
                String expected = "v1," + Base64.getEncoder().encodeToString(mac.doFinal(body));
                for (String given : headers.get("webhook-signature").split(" "))
                    isRight |= MessageDigest.isEqual(given.getBytes(StandardCharsets.UTF_8), expected.getBytes());
            }
        } catch (GeneralSecurityException impossible) {
            throw new IllegalStateException(impossible);
        }
        if (!isRight) throw new InvalidSignature("signature_wrong");
    }

    /** Parses a notification. Unknown members are kept. */
    public static Notification parse(String id, String sequence, byte[] body) {
        Object value;
        try {
            value = Json.parse(StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(body)).toString());
        } catch (CharacterCodingException | IllegalArgumentException fault) {
            throw new Malformed("The body is not JSON in UTF-8.");
        }
        if (!(value instanceof Map<?, ?> members)) throw new Malformed("The body is not a JSON object.");
        if (!sequence.matches("[1-9][0-9]{0,9}")) throw new Malformed("event-sequence is not a number from 1 on.");
        long number = Long.parseLong(sequence);
        BigInteger digest = digestOf(id, number, body);
        if (members.containsKey("svc_eligiblity_id")) { // A record change has the same form as in the change feed.
            text(members, "change");
            String key = "record " + text(members, "svc_eligiblity_id");
            return new Notification(id, key, key, number, time(members, "at"), digest, members);
        }
        for (String name : List.of("booking_code", "candidate_id", "change_reason")) text(members, name);
        time(members, "booking_on");
        Object record = members.get("client_eligibility_id");
        if (!(record instanceof String)) record = members.get("candidate_id") + "/" + members.get("exam_code");
        long at = time(members, "effective_date");
        return new Notification(id, text(members, "booking_code"), (String) record, number, at, digest, members);
    }

    private static String text(Map<?, ?> members, String name) {
        if (members.get(name) instanceof String value && !value.isEmpty()) return value;
        throw new Malformed(name + " is missing or malformed.");
    }

    private static long time(Map<?, ?> members, String name) {
        String value = text(members, name);
        try {
            if (value.length() == 20) return seconds(value);
        } catch (DateTimeParseException fault) {
            // A malformed time is refused below.
        }
        throw new Malformed(name + " is malformed.");
    }

    public static long seconds(String dateTime) {
        return Instant.parse(dateTime).getEpochSecond();
    }

    public static String dateTime(long seconds) {
        return Instant.ofEpochSecond(seconds).toString();
    }

    public static BigInteger digestOf(String id, long sequence, byte[] body) {
        try {
            MessageDigest hash = MessageDigest.getInstance("SHA-256");
            hash.update((id + "\n" + sequence + "\n").getBytes(StandardCharsets.UTF_8));
            return new BigInteger(1, hash.digest(body));
        } catch (GeneralSecurityException impossible) {
            throw new IllegalStateException(impossible);
        }
    }

    /** Computes the time steps of `GET /partner/digest` from the notifications that the partner has stored. */
    public static List<Map<String, Object>> stepsOf(List<Notification> kept, long from, long to, long stepS) {
        List<Map<String, Object>> steps = new ArrayList<>();
        int count = (int) ((to - from + stepS - 1) / stepS);
        int[] counts = new int[count];
        BigInteger[] sums = new BigInteger[count];
        Arrays.fill(sums, BigInteger.ZERO);
        for (Notification one : kept) {
            int index = (int) ((one.at() - from) / stepS);
            counts[index]++;
            sums[index] = sums[index].xor(one.digest());
        }
        for (int index = 0; index < count; index++) {
            Map<String, Object> step = new LinkedHashMap<>();
            step.put("from", dateTime(from + index * stepS));
            step.put("to", dateTime(Math.min(from + (index + 1) * stepS, to)));
            step.put("count", (double) counts[index]);
            step.put("digest", String.format("%064x", sums[index]));
            steps.add(step);
        }
        return steps;
    }
}

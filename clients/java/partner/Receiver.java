package partner;

import java.util.List;
import java.util.Map;

/**
 * Decides the answer to a notification, whether the service pushes it or you poll it:
 *
 * <ol>
 * <li>Form: `application/json` without content coding. Otherwise 415.
 * <li>Signature: verified over the received bytes, before anything else is trusted. Otherwise 401.
 * <li>Body: a JSON object with the members of a notification, and `event-sequence` is a number. Otherwise 400.
 * <li>The sample notification of a verification is answered with 200, without further processing.
 * <li>The store decides the outcome: applied (after your work ran), late or repeat. All three are answered with 200.
 * <li>UnknownRecord from your work is answered with 400. After other errors (500), the service retries automatically.
 * </ol>
 */
public record Receiver(Store store, List<String> secrets, Work work) {
    /**
     * The processing that you provide. `isNewestOfRecord` is false when another booking of the eligibility record had a
     * later event.
     */
    public interface Work {
        void run(Notification notification, boolean isNewestOfRecord) throws Exception;
    }

    public record Answer(int status, String code) {}

    /** Handles a PUT of the service; the names of headers are in lower case. */
    public Answer receive(Map<String, String> headers, byte[] body) {
        String type = headers.getOrDefault("content-type", "").split(";")[0].trim();
        if (!type.equalsIgnoreCase("application/json") || headers.containsKey("content-encoding"))
            return new Answer(415, "unsupported_media_type");
        try {
            Notification.verify(headers, body, secrets, 300, System.currentTimeMillis() / 1000);
        } catch (Notification.InvalidSignature fault) {
            return new Answer(401, fault.getMessage());
        }
        return take(headers.get("webhook-id"), headers.getOrDefault("event-sequence", ""), body);
    }

    /** Handles a body that is known to come from the service, for instance from a poll. */
    public Answer take(String id, String sequence, byte[] body) {
        try {
            Notification notification = Notification.parse(id, sequence, body);
            if (notification.key().startsWith("SAMPLE")) return new Answer(200, "sample");
            return new Answer(200, store.once(notification, isNewest -> work.run(notification, isNewest)));
        } catch (Notification.Malformed fault) {
            return new Answer(400, "malformed");
        } catch (Notification.UnknownRecord fault) {
            return new Answer(400, "unknown_record");
        } catch (Exception fault) {
            fault.printStackTrace();
            return new Answer(500, "failed");
        }
    }
}

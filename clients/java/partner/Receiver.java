package partner;

import java.util.List;
import java.util.Map;

/**
 * Decides the response to a notification, whether the service pushes it or you poll it:
 *
 * <ol>
 * <li>The body must be `application/json` without a content coding. Otherwise, the response is 415.
 * <li>The signature over the received bytes must be valid. Otherwise, the response is 401, and nothing is trusted.
 * <li>The body must be a notification as JSON, and `event-sequence` a number. Otherwise, the response is 400.
 * <li>For the sample notification of a verification, the response is 200, and nothing is processed.
 * <li>The store decides the outcome: applied (your work ran), late or repeat. For all three, the response is 200.
 * <li>If your work throws UnknownRecord, the response is 400. After other errors (500), the service retries.
 * </ol>
 */
public record Receiver(Store store, List<String> secrets, Work work) {
    /**
     * The processing that you provide. `isNewestOfRecord` is false if another booking of the same eligibility record
     * had a later event.
     */
    public interface Work {
        void run(Notification notification, boolean isNewestOfRecord) throws Exception;
    }

    public record Answer(int status, String code) {}

    /** Handles a PUT request from the service. The names of the headers are in lower case. */
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

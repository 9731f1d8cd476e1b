package partner;

import java.io.IOException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** Calls the service. Obtains a token with the `partner` scope by the client credentials grant. */
public final class PartnerApi {
    private static final int MAX_STEPS = 1000;
    private static final int HOUR = 3600;
    private static final int PAGE = 200;
    private static final int MAX_IDS = 1000;
    /**
     * `heal` lists the notifications of a step by creation time, which may differ from the time of the event. It
     * therefore extends the period by these margins, in seconds, one after another.
     */
    private static final long[] MARGINS = {5, 60, 3600, 86_400};
    private static final Pattern NEXT = Pattern.compile("<([^>]*)>;\\s*rel=\"next\"");

    private final HttpClient http = HttpClient.newHttpClient();
    private final String base;
    private final String basic;
    private final String subscriptionId;
    private String token;
    private int calls;

    public PartnerApi(String baseUrl, String key, String secret, String subscriptionId) {
        base = baseUrl.replaceAll("/+$", "") + "/";
        basic = "Basic " + Base64.getEncoder().encodeToString((key + ":" + secret).getBytes(StandardCharsets.UTF_8));
        this.subscriptionId = subscriptionId;
    }

    private record Response(Object body, String next) {}

    /**
     * Sends a GET request, or a POST request if there is a body. Returns the parsed response, and the address of the
     * next page; null on the last page.
     */
    private Response call(String path, Object body) throws IOException, InterruptedException {
        calls++;
        for (boolean isLast = false; ; isLast = true) {
            if (token == null) {
                String form = "grant_type=client_credentials&scope=partner";
                HttpResponse<String> granted = send("token", basic, "application/x-www-form-urlencoded", form);
                if (granted.statusCode() != 200) throw fault("token", granted);
                token = (String) ((Map<?, ?>) Json.parse(granted.body())).get("access_token");
            }
            String text = body == null ? null : Json.write(body);
            HttpResponse<String> response = send(path, "Bearer " + token, "application/json", text);
            if (response.statusCode() / 100 == 2) {
                Matcher link = NEXT.matcher(response.headers().firstValue("link").orElse(""));
                return new Response(Json.parse(response.body()), link.find() ? link.group(1) : null);
            }
            if (response.statusCode() != 401 || isLast) throw fault(path, response);
            token = null;
        }
    }

    private HttpResponse<String> send(String path, String credentials, String type, String body)
            throws IOException, InterruptedException {
        HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(base).resolve(path))
                .timeout(Duration.ofMinutes(1)).header("Authorization", credentials).header("Content-Type", type);
        if (body != null) request.POST(BodyPublishers.ofString(body));
        return http.send(request.build(), BodyHandlers.ofString());
    }

    private static IOException fault(String path, HttpResponse<String> response) {
        return new IOException(path + " answered " + response.statusCode() + " " + response.body());
    }

    /**
     * Fetches and processes the due notifications of a subscription with `delivery: "POLL"`, and returns the number of
     * acknowledged notifications. If your work throws an exception, the lease of the notification expires and the
     * service offers the notification again.
     */
    public int poll(Receiver receiver, boolean forever) throws IOException, InterruptedException {
        int done = 0;
        List<String> ack = List.of();
        List<Map<String, String>> refuse = List.of();
        while (true) {
            boolean waits = forever && ack.isEmpty();
            Object order = Map.of("subscription_id", subscriptionId, "max", 100, "return_immediately", !waits,
                    "ack", ack, "refuse", refuse);
            List<?> offered = (List<?>) ((Map<?, ?>) call("partner/notifications/poll", order).body()).get("notifications");
            done += ack.size();
            ack = new ArrayList<>();
            refuse = new ArrayList<>();
            if (offered.isEmpty() && !forever) return done;
            for (Object item : offered) {
                Map<?, ?> one = (Map<?, ?>) item;
                String id = (String) one.get("id");
                String sequence = String.valueOf(((Double) one.get("event_sequence")).longValue());
                byte[] body = ((String) one.get("body")).getBytes(StandardCharsets.UTF_8);
                Receiver.Answer answer = receiver.take(id, sequence, body);
                String reason = answer.code().equals("unknown_record") ? "NO_MATCHING_RECORD" : "OTHER";
                if (answer.status() == 200) ack.add(id);
                if (answer.status() == 400) refuse.add(Map.of("id", id, "reason", reason, "detail", answer.code()));
            }
        }
    }

    public record Healed(List<String> missing, int calls) {}

    /**
     * Finds the delivered notifications that the store does not have, and requests a replay of them. If the service's
     * digest of a time step differs from the digest of the stored notifications, divides the step into smaller steps,
     * until the service can list the notifications of a step on one page. A step may contain notifications that only
     * the partner still has; this is not a fault. Returns the missing ids and the number of API calls.
     */
    public Healed heal(Store store, long from, long to) throws IOException, InterruptedException {
        int before = calls;
        List<String> missing = new ArrayList<>();
        // Steps of whole hours cost the service the least, because the service stores their digests.
        long[] whole = {from / HOUR * HOUR, (to + HOUR - 1) / HOUR * HOUR};
        Deque<long[]> ranges = new ArrayDeque<>(List.of(to - from > HOUR ? whole : new long[] {from, to}));
        while (!ranges.isEmpty()) {
            long start = ranges.peek()[0];
            long end = ranges.pop()[1];
            long unit = end - start > HOUR ? HOUR : 1;
            long stepS = unit * ((end - start + unit * MAX_STEPS - 1) / (unit * MAX_STEPS));
            Set<Map<String, Object>> own = Set.copyOf(Notification.stepsOf(store.kept(start, end), start, end, stepS));
            Response told = call("partner/digest?" + query(start, end) + "&step_s=" + stepS, null);
            for (Object item : (List<?>) told.body()) {
                Map<?, ?> step = (Map<?, ?>) item;
                long count = ((Double) step.get("count")).longValue();
                if (count == 0 || own.contains(step)) continue;
                long first = Notification.seconds((String) step.get("from"));
                long last = Notification.seconds((String) step.get("to"));
                if (count > PAGE && last - first > 1) ranges.push(new long[] {first, last});
                else missing.addAll(missing(store, count, first, last));
            }
        }
        Healed healed = new Healed(missing, calls - before);
        for (int first = 0; first < missing.size(); first += MAX_IDS)
            call("partner/notifications/replay",
                    Map.of("ids", missing.subList(first, Math.min(first + MAX_IDS, missing.size()))));
        return healed;
    }

    /** Lists the delivered notifications of a step, and returns the ids that are not in the store. */
    private List<String> missing(Store store, long count, long from, long to) throws IOException, InterruptedException {
        List<String> ids = new ArrayList<>();
        for (long margin : MARGINS) {
            ids.clear();
            String page = "partner/notifications?state=DELIVERED&limit=" + PAGE + "&" + query(from - margin, to + margin);
            while (page != null) {
                Response listed = call(page, null);
                for (Object item : (List<?>) listed.body()) {
                    long at = Notification.seconds((String) ((Map<?, ?>) item).get("effective_date"));
                    if (at >= from && at < to) ids.add((String) ((Map<?, ?>) item).get("id"));
                }
                page = listed.next();
            }
            if (ids.size() >= count) break;
        }
        // The store is read after the list. A notification that arrives in between is therefore not reported as
        // missing.
        Set<String> known = store.kept(from, to).stream().map(Notification::id).collect(Collectors.toSet());
        ids.removeAll(known);
        return ids;
    }

    private String query(long from, long to) {
        return "subscription_id=" + URLEncoder.encode(subscriptionId, StandardCharsets.UTF_8)
                + "&from=" + Notification.dateTime(from) + "&to=" + Notification.dateTime(to);
    }
}

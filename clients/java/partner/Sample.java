package partner;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import com.sun.net.httpserver.HttpsConfigurator;
import com.sun.net.httpserver.HttpsServer;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.math.BigInteger;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyFactory;
import java.security.KeyStore;
import java.security.MessageDigest;
import java.security.PrivateKey;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.Executors;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;

/** A sample partner. Run it as it is, then replace `work` with your own. */
final class Sample {
    private static final String USAGE = """
            usage: java -cp classes partner.Sample serve            receives notifications at https://localhost:PORT
                   java -cp classes partner.Sample poll             fetches and acknowledges what is due
                   java -cp classes partner.Sample heal FROM TO     finds missing notifications, and orders them again
                   java -cp classes partner.Sample vectors FILE     checks the kit against vectors.json

            Settings of the environment: STORE (a file), WEBHOOK_SECRET, PORT, TLS_CERT, TLS_KEY for serve;
            STORE, BASE_URL, CONSUMER_KEY, CONSUMER_SECRET, SUBSCRIPTION_ID for poll and heal.""";
    private static final int MAX_BODY = 256 * 1024;

    /** Processes a notification. Write to your own database here. */
    static void work(Notification notification, boolean isNewestOfRecord) {
        // Only a record change has the member `change`. A subscription receives it only with `record_changes`.
        boolean isChange = notification.members().containsKey("change");
        System.out.println(notification.members().get(isChange ? "change" : "change_reason") + " " + notification.key());
    }

    static String setting(String name) {
        String value = System.getenv(name);
        if (value == null || value.isEmpty()) throw new IllegalArgumentException(name + " is missing.\n" + USAGE);
        return value;
    }

    /** Runs a server. The server uses TLS if a certificate is given. */
    static void serve(Receiver receiver) throws Exception {
        InetSocketAddress address = new InetSocketAddress(Integer.parseInt(setting("PORT")));
        HttpServer server;
        if (System.getenv("TLS_CERT") == null) server = HttpServer.create(address, 128);
        else {
            HttpsServer secure = HttpsServer.create(address, 128);
            secure.setHttpsConfigurator(new HttpsConfigurator(tls(setting("TLS_CERT"), setting("TLS_KEY"))));
            server = secure;
        }
        server.createContext("/", exchange -> answer(exchange, receiver));
        server.setExecutor(Executors.newCachedThreadPool());
        server.start();
        System.out.println("ready");
    }

    private static void answer(HttpExchange exchange, Receiver receiver) throws IOException {
        byte[] body = exchange.getRequestBody().readNBytes(MAX_BODY + 1);
        Map<String, String> headers = new HashMap<>();
        // A repeated header is treated as missing.
        exchange.getRequestHeaders().forEach((name, values) -> {
            if (values.size() == 1) headers.put(name.toLowerCase(), values.get(0));
        });
        Receiver.Answer answer;
        if (!exchange.getRequestMethod().equals("PUT")) answer = new Receiver.Answer(405, "method_not_allowed");
        else if (!exchange.getRequestURI().getPath().matches(".*/(notifications|changes)"))
            answer = new Receiver.Answer(404, "not_found");
        else if (body.length > MAX_BODY) answer = new Receiver.Answer(413, "payload_too_large");
        else answer = receiver.receive(headers, body);
        if (answer.status() == 405) exchange.getResponseHeaders().set("Allow", "PUT");
        byte[] text = Json.write(Map.of("code", answer.code())).getBytes(StandardCharsets.UTF_8);
        exchange.getResponseHeaders().set("Content-Type", "application/json");
        exchange.sendResponseHeaders(answer.status(), text.length);
        exchange.getResponseBody().write(text);
        exchange.close();
    }

    /** Reads a certificate and its key (PKCS #8), both as PEM. */
    private static SSLContext tls(String certificate, String key) throws Exception {
        byte[] chain = Files.readAllBytes(Path.of(certificate));
        Certificate[] certificates = CertificateFactory.getInstance("X.509")
                .generateCertificates(new ByteArrayInputStream(chain)).toArray(Certificate[]::new);
        String base64 = Files.readString(Path.of(key)).replaceAll("-----[^-]+-----|\\s", "");
        PKCS8EncodedKeySpec encoded = new PKCS8EncodedKeySpec(Base64.getDecoder().decode(base64));
        PrivateKey found = KeyFactory.getInstance(certificates[0].getPublicKey().getAlgorithm()).generatePrivate(encoded);
        KeyStore keys = KeyStore.getInstance("PKCS12");
        keys.load(null, null);
        keys.setKeyEntry("partner", found, new char[0], certificates);
        KeyManagerFactory managers = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
        managers.init(keys, new char[0]);
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(managers.getKeyManagers(), null, null);
        return context;
    }

    /** Returns a sentence about the fault if the hash in the vectors file does not match the bytes of the file. */
    static List<String> faultsOfBytes(byte[] file) throws Exception {
        String name = "  \"sha256\": \"";
        String text = new String(file, StandardCharsets.ISO_8859_1);
        String before = text.substring(0, Math.max(0, text.lastIndexOf(name)));
        byte[] hash = MessageDigest.getInstance("SHA-256").digest(before.getBytes(StandardCharsets.ISO_8859_1));
        String right = name + HexFormat.of().formatHex(hash) + "\"\n}\n";
        return text.substring(before.length()).equals(right) ? List.of()
                : List.of("WRONG vectors.json: its bytes do not have the hash in `sha256`");
    }

    /** Returns a sentence for each test vector for which the kit's result differs from the expected result. */
    static List<String> faultsOf(Map<?, ?> vectors) throws Exception {
        List<String> faults = new ArrayList<>();
        for (Map<?, ?> one : cases(vectors, "signatures")) {
            Map<String, String> headers = new HashMap<>();
            ((Map<?, ?>) one.get("headers")).forEach((name, value) -> headers.put((String) name, (String) value));
            List<String> secrets = ((List<?>) one.get("secrets")).stream().map(String.class::cast).toList();
            Object verdict = null;
            try {
                Notification.verify(headers, bytes(one.get("body")), secrets, 300, number(one.get("now")));
            } catch (Notification.InvalidSignature fault) {
                verdict = fault.getMessage();
            }
            expect(faults, one, verdict, one.get("fault"));
        }
        for (Map<?, ?> one : cases(vectors, "ordering")) {
            Path file = Files.createTempFile("partner-vectors", null);
            Store store = new Store(file);
            List<Object> outcomes = new ArrayList<>();
            List<Object> newest = new ArrayList<>();
            for (Map<?, ?> came : cases(one, "received")) {
                String record = (String) came.get("record");
                long at = Notification.seconds((String) came.get("effective_date"));
                Notification notification = new Notification((String) came.get("id"), (String) came.get("booking_code"),
                        record, number(came.get("event_sequence")), at, BigInteger.ONE, Map.of());
                newest.add(false);
                outcomes.add(store.once(notification, isNewest -> newest.set(newest.size() - 1, isNewest)));
            }
            Files.delete(file);
            expect(faults, one, List.of(outcomes, newest), List.of(one.get("outcomes"), one.get("newest")));
        }
        for (Map<?, ?> one : cases(vectors, "digests")) {
            List<Notification> kept = new ArrayList<>();
            for (Map<?, ?> it : cases(one, "kept")) {
                String sequence = String.valueOf(number(it.get("event_sequence")));
                kept.add(Notification.parse((String) it.get("id"), sequence, bytes(it.get("body"))));
            }
            long from = Notification.seconds((String) one.get("from"));
            long to = Notification.seconds((String) one.get("to"));
            expect(faults, one, Notification.stepsOf(kept, from, to, number(one.get("step_s"))), one.get("steps"));
        }
        return faults;
    }

    private static List<Map<?, ?>> cases(Map<?, ?> of, String name) {
        List<Map<?, ?>> all = new ArrayList<>();
        for (Object one : (List<?>) of.get(name)) all.add((Map<?, ?>) one);
        return all;
    }

    private static void expect(List<String> faults, Map<?, ?> one, Object found, Object right) {
        if (!Objects.equals(found, right))
            faults.add("WRONG " + one.get("title") + ": " + found + " instead of " + right);
    }

    private static byte[] bytes(Object text) {
        return ((String) text).getBytes(StandardCharsets.UTF_8);
    }

    private static long number(Object value) {
        return ((Double) value).longValue();
    }

    public static void main(String[] arguments) throws Exception {
        String command = arguments.length == 0 ? "" : arguments[0];
        if (command.equals("vectors") && arguments.length == 2) {
            byte[] file = Files.readAllBytes(Path.of(arguments[1]));
            List<String> faults = new ArrayList<>(faultsOfBytes(file));
            faults.addAll(faultsOf((Map<?, ?>) Json.parse(new String(file, StandardCharsets.UTF_8))));
            System.out.println(faults.isEmpty() ? "The vectors are right." : String.join("\n", faults));
            System.exit(faults.isEmpty() ? 0 : 1);
        }
        if (!List.of("serve", "poll", "heal").contains(command) || (command.equals("heal") && arguments.length != 3)) {
            System.err.println(USAGE);
            System.exit(2);
        }
        Store store = new Store(Path.of(setting("STORE")));
        if (command.equals("serve")) {
            serve(new Receiver(store, List.of(setting("WEBHOOK_SECRET").split(" ")), Sample::work));
            return;
        }
        PartnerApi api = new PartnerApi(setting("BASE_URL"), setting("CONSUMER_KEY"), setting("CONSUMER_SECRET"),
                setting("SUBSCRIPTION_ID"));
        if (command.equals("poll")) {
            System.out.println(api.poll(new Receiver(store, List.of(), Sample::work), false) + " acknowledged");
            return;
        }
        PartnerApi.Healed healed =
                api.heal(store, Notification.seconds(arguments[1]), Notification.seconds(arguments[2]));
        System.out.println(healed.missing().size() + " missing, found in " + healed.calls() + " calls");
    }
}

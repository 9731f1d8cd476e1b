package partner;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Keeps the processed notifications of one process in a file, one per line. Your work and the write to the file are not
 * one transaction. If the process crashes between them, your work is called again. Another process that runs `heal` may
 * read the file at the same time.
 */
public final class Store {
    /**
     * The work that the store calls. `isNewestOfRecord` is false if another booking of the record had a later event.
     */
    public interface Work {
        void run(boolean isNewestOfRecord) throws Exception;
    }

    private final RandomAccessFile file;
    /** Whether the file may end with an incomplete line, because of a crash or a full disk. */
    private boolean isTorn;
    private final Map<String, Notification> ids = new HashMap<>();
    private final Map<String, Long> last = new HashMap<>();
    private final Map<String, Long> newest = new HashMap<>();

    public Store(Path path) throws IOException {
        file = new RandomAccessFile(path.toFile(), "rwd");
        String text = Files.readString(path, StandardCharsets.ISO_8859_1);
        isTorn = !text.isEmpty() && !text.endsWith("\n");
        for (String line : text.split("\n")) {
            byte[] bytes = line.getBytes(StandardCharsets.ISO_8859_1);
            Object value;
            try {
                value = Json.parse(new String(bytes, StandardCharsets.UTF_8));
            } catch (IllegalArgumentException incomplete) {
                continue;
            }
            List<?> kept = (List<?>) value;
            long sequence = ((Double) kept.get(3)).longValue();
            long at = ((Double) kept.get(4)).longValue();
            BigInteger digest = new BigInteger((String) kept.get(5), 16);
            String[] names = kept.subList(0, 3).toArray(String[]::new);
            remember(new Notification(names[0], names[1], names[2], sequence, at, digest, Map.of()));
        }
    }

    private void remember(Notification one) {
        ids.put(one.id(), one);
        last.merge(one.key(), one.sequence(), Math::max);
        newest.merge(one.record(), one.at(), Math::max);
    }

    /**
     * Calls the work unless the id or a later event of the booking is known, and returns applied, late or repeat. When
     * the work throws an exception, nothing is stored.
     */
    public synchronized String once(Notification one, Work work) throws Exception {
        if (ids.containsKey(one.id())) return "repeat";
        boolean isLate = one.sequence() <= last.getOrDefault(one.key(), 0L);
        if (!isLate) work.run(one.at() >= newest.getOrDefault(one.record(), 0L));
        String digest = one.digest().toString(16);
        List<Object> kept = List.of(one.id(), one.key(), one.record(), one.sequence(), one.at(), digest);
        String line = (isTorn ? "\n" : "") + Json.write(kept) + "\n";
        isTorn = true;
        file.seek(file.length());
        // The file was opened with the mode `rwd`, which forces every write to the disk.
        file.write(line.getBytes(StandardCharsets.UTF_8));
        isTorn = false;
        // The members are not kept in memory, so that many notifications fit into it.
        remember(new Notification(one.id(), one.key(), one.record(), one.sequence(), one.at(), one.digest(), Map.of()));
        return isLate ? "late" : "applied";
    }

    /** Returns the notifications that were generated at or after `from` and before `to`, in seconds since 1970. */
    public synchronized List<Notification> kept(long from, long to) {
        return ids.values().stream().filter(one -> one.at() >= from && one.at() < to).toList();
    }
}

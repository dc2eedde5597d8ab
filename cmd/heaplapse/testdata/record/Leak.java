import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/** Keeps buffers outside the Java heap. */
public class Leak {
    static final List<ByteBuffer> kept = new ArrayList<>();

    static void handle(int n) {
        kept.add(ByteBuffer.allocateDirect(16_000 + n % 100));
    }

    public static void main(String[] arguments) throws Exception {
        for (int i = 0; i < 4000; i++) {
            handle(i);
            Thread.sleep(1);
        }
    }
}

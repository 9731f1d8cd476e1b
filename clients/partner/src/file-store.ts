import { closeSync, fdatasyncSync, openSync, readFileSync, writeSync } from 'node:fs';
import { MemoryStore, type StoredNotification } from './notification-store.js';

/**
 * Stores processed notifications in a file, for one process without a database. Each notification is one line, which is
 * on the disk before the notification is acknowledged. Your work is not in a transaction with the file: after a crash
 * between the two, the work is called a second time. Other processes may read the file at the same time, for `heal`.
 */
export class FileStore extends MemoryStore {
  private readonly file: number;
  /** Whether the file may end with a part of a line, which a crash or a full disk left. */
  private isTorn: boolean;

  constructor(path: string) {
    super();
    this.file = openSync(path, 'a+');
    const text = readFileSync(path, 'utf8');
    this.isTorn = text !== '' && !text.endsWith('\n');
    for (const line of text.split('\n')) {
      const stored = storedOf(line);
      if (stored !== null) super.keep(stored);
    }
  }

  close(): void {
    closeSync(this.file);
  }

  protected override keep(stored: StoredNotification): void {
    const line = `${this.isTorn ? '\n' : ''}${JSON.stringify(stored)}\n`;
    this.isTorn = true;
    writeSync(this.file, line);
    fdatasyncSync(this.file);
    this.isTorn = false;
    super.keep(stored);
  }
}

/** Returns the notification in a line; null for an incomplete line. */
function storedOf(line: string): StoredNotification | null {
  try {
    return JSON.parse(line) as StoredNotification;
  } catch {
    return null;
  }
}

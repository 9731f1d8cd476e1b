import { closeSync, fdatasyncSync, openSync, readFileSync, writeSync } from 'node:fs';
import { MemoryStore, type StoredNotification } from './notification-store.js';

/**
 * Stores processed notifications in a file, for one process without a database. Each notification is one line, which is
 * written to the disk before the notification is acknowledged. Your function `work` and the write to the file do not
 * share a transaction. If the process crashes between them, `work` is called again. Another process that runs `heal`
 * may read the file at the same time.
 */
export class FileStore extends MemoryStore {
  private readonly file: number;
  /** Whether the file may end with an incomplete line, because of a crash or a full disk. */
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

/** Parses a line of the file; returns null for an incomplete line. */
function storedOf(line: string): StoredNotification | null {
  try {
    return JSON.parse(line) as StoredNotification;
  } catch {
    return null;
  }
}

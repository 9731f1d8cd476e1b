import { closeSync, fdatasyncSync, ftruncateSync, openSync, readFileSync, writeSync } from 'node:fs';
import { MemoryStore, type StoredNotification } from './notification-store.js';

/**
 * Stores processed notifications in a file, for one process without a database. Each notification is one line, which is
 * on the disk before the notification is acknowledged. Your work is not in a transaction with the file: after a crash
 * between the two, the work is called a second time.
 */
export class FileStore extends MemoryStore {
  private readonly file: number;

  constructor(path: string) {
    super();
    this.file = openSync(path, 'a+');
    const text = readFileSync(path);
    // A crash may have left a part of a line behind the last line break.
    const whole = text.lastIndexOf('\n') + 1;
    if (whole < text.length) ftruncateSync(this.file, whole);
    for (const line of text.subarray(0, whole).toString('utf8').split('\n'))
      if (line !== '') super.keep(JSON.parse(line) as StoredNotification);
  }

  close(): void {
    closeSync(this.file);
  }

  protected override keep(stored: StoredNotification): void {
    writeSync(this.file, `${JSON.stringify(stored)}\n`);
    fdatasyncSync(this.file);
    super.keep(stored);
  }
}

import { Readable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { createBody, type Scene } from './scene.js';

/**
 * Yields eligibilities as lines of CSV. Each line has the same members as the body of a request that creates one
 * eligibility. NDJSON is not used, because a million lines of it would exceed the size limit of an import.
 */
async function* lines(scene: Scene, label: string, count: number): AsyncIterable<string> {
  const { candidate, ...record } = JSON.parse(createBody(scene, '')) as Record<string, string> & {
    candidate: Record<string, string> & {
      special_accommodations: string[];
      additional_attributes: { key: string; value: string }[];
    };
  };
  const { candidate_id: _, special_accommodations, additional_attributes, ...person } = candidate;
  const cells: Record<string, string> = {
    ...person,
    ...record,
    special_accommodations: special_accommodations.join(';'),
    ...Object.fromEntries(additional_attributes.map(({ key, value }) => [`attributes.${key}`, value])),
  };
  yield `candidate_id,${Object.keys(cells).join(',')}\n`;
  const rest = `,${Object.values(cells).join(',')}\n`;
  for (let number = 1; number <= count; number++) {
    yield `${label}-${number}${rest}`;
    // The upload pauses after each chunk of rows, because a real file also arrives in separate chunks.
    if (number % 500 === 0) await pause(0);
  }
}

/** Uploads import files for an account, reads the states of the imports, and aborts the imports. */
export class Imports {
  private readonly url: string;
  private readonly authorization: string;

  constructor(
    serviceUrl: string,
    private readonly scene: Scene,
    token: string,
  ) {
    this.url = `${serviceUrl}/accounts/${scene.accountCode}/eligibility-imports`;
    this.authorization = `Bearer ${token}`;
  }

  /** Uploads rows. Resolves when the service has received all of them. */
  async send(label: string, count: number): Promise<string> {
    const { import_id } = await this.call<{ import_id: string }>('', {
      method: 'POST',
      headers: { 'content-type': 'text/csv' },
      body: Readable.toWeb(Readable.from(lines(this.scene, label, count))) as ReadableStream,
      duplex: 'half',
    });
    return import_id;
  }

  state(id: string): Promise<{ state: string }> {
    return this.call<{ state: string }>(`/${id}`);
  }

  async abort(id: string): Promise<void> {
    if ((await this.state(id)).state === 'RUNNING') await this.call(`/${id}/abort`, { method: 'POST' });
  }

  private async call<Answer>(path: string, init: RequestInit = {}): Promise<Answer> {
    const answer = await fetch(this.url + path, {
      ...init,
      headers: { ...init.headers, authorization: this.authorization },
    });
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
    return (await answer.json()) as Answer;
  }
}

import { parse } from 'csv-parse/sync';
import type { TestApp } from './app';
import { eventually } from './eventually';

type Scene = Awaited<ReturnType<TestApp['given']['scene']>>;
export type ReportLine = Record<string, string>;

const CSV = { 'content-type': 'text/csv' };

/** Uploads import files for an account, and reads the state and the reports of the imports. */
export function importsOf(app: TestApp, scene: () => Scene) {
  const path = () => `/accounts/${scene().account}/eligibility-imports`;
  const send = (body: string | Buffer, headers: Record<string, string> = {}) =>
    app.call('POST', path(), { token: scene().token, body, headers: { ...CSV, ...headers } });
  const ended = async (id: string): Promise<Record<string, any> & { report: ReportLine[] }> => {
    const state = await eventually(async () => {
      const { body } = await app.call('GET', `${path()}/${id}`, { token: scene().token });
      if (body.state !== 'DONE') throw new Error(`The import is ${body.state}.`);
      return body;
    }, 30_000);
    const { text } = await app.call('GET', `${path()}/${id}/report`, { token: scene().token });
    return { ...state, report: parse<ReportLine>(text, { columns: true, bom: true }) };
  };
  return {
    path,
    send,
    ended,
    imported: async (body: string | Buffer, headers?: Record<string, string>) => {
      const answer = await send(body, headers);
      if (answer.status !== 202) throw new Error(`${answer.status} ${answer.text}`);
      return ended(answer.body.import_id);
    },
    exported: async (): Promise<string> =>
      (await app.call('GET', `/accounts/${scene().account}/eligibilities.csv`, { token: scene().token })).text,
    records: async (candidateId: string): Promise<Record<string, any>[]> =>
      (
        await app.call('GET', `/accounts/${scene().account}/candidates/${encodeURIComponent(candidateId)}`, {
          token: scene().token,
        })
      ).body,
  };
}

/** Returns the file with an additional first column that has the same value in each row. */
export function withAction(text: string, action: string): string {
  return text
    .replace(/^\ufeff/, '')
    .split('\r\n')
    .map((line, index) => (line === '' ? '' : `${index === 0 ? 'action' : action},${line}`))
    .join('\r\n');
}

import type { Answer } from './app';

/** Returns the pointer and the code of each fault in a problem document. */
export function faultsOf({ body }: Pick<Answer, 'body'>): string[] {
  return ((body.errors ?? []) as { pointer: string; code: string }[]).map(({ pointer, code }) => `${pointer} ${code}`);
}

/** Returns the URL of the next page; undefined if the response is the last page. */
export function nextUrl({ headers }: Pick<Answer, 'headers'>): string | undefined {
  return /^<([^>]+)>; rel="next"$/.exec(headers.get('link') ?? '')?.[1];
}

/** Returns the path and the query of the next page's URL; undefined if the response is the last page. */
export function nextPath(answer: Pick<Answer, 'headers'>): string | undefined {
  const url = nextUrl(answer);
  if (url === undefined) return undefined;
  const { pathname, search } = new URL(url);
  return pathname + search;
}

/** Returns the path of an exam of a candidate. */
export function examPath({ account }: { account: string }, record: Record<string, any>): string {
  const candidate = encodeURIComponent(record['candidate'].candidate_id as string);
  return `/accounts/${account}/candidates/${candidate}/tests/${record['test_code']}`;
}

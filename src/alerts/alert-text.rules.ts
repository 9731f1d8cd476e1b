import { formatDateTime } from '../platform/clock.js';
import type { Condition, ConditionName } from './conditions.js';

/** The content of a message, which is stored before it is sent. It contains no name and no id of a candidate. */
export interface AlertContent {
  readonly condition: ConditionName | 'TEST';
  /** The first sentence of the message, which names the condition. */
  readonly title: string;
  /** The further sentences of the message. They say when the condition began, whom it concerns and how to remedy it. */
  readonly lines: readonly string[];
  readonly since: string | null;
  readonly account_codes: readonly string[] | null;
  readonly partner: { readonly subscription_id: string; readonly name: string } | null;
  /**
   * The path of the console page on which an operator can deal with the condition. In messages, the address of the
   * service precedes the path.
   */
  readonly path: string;
}

interface Words {
  readonly title: string;
  readonly remedy: string;
  readonly path: string;
  /** A further sentence of the message, after the sentence that states the time. */
  readonly more?: string;
  /** Whether the time in the message is the time of an event. Otherwise, it is the time at which a state began. */
  readonly isEvent?: boolean;
}

/**
 * Returns the content of the message about a condition, including the names of the accounts that the condition
 * concerns.
 */
export function contentOf(condition: Condition, names: ReadonlyMap<string, string>): AlertContent {
  const { title, remedy, path, more, isEvent } = WORDS[condition.condition](condition);
  const since = formatDateTime(condition.since);
  return {
    condition: condition.condition,
    title,
    lines: [
      `${isEvent ? 'Time' : 'Since'}: ${readable(condition.since)}.`,
      `${accountText(condition.accountCodes, names)}.`,
      ...(more === undefined ? [] : [more]),
      remedy,
    ],
    since,
    account_codes: condition.accountCodes,
    partner: condition.partner,
    path,
  };
}

/** Returns the content of the message that an operator sends as a test. */
export function testContent(name: string): AlertContent {
  return {
    condition: 'TEST',
    title: `This is a test of the alert ${name}`,
    lines: ['Nothing is wrong. An operator sent this message to check that the alert arrives.'],
    since: null,
    account_codes: null,
    partner: null,
    path: '/console/setup/alerts',
  };
}

const WORDS: Readonly<Record<ConditionName, (condition: Condition) => Words>> = {
  PARTNER_FAILING: (condition) => ({
    title: `A notification to the partner ${nameOf(condition)} failed`,
    more: endOf(condition),
    remedy: 'The error queue shows the cause and the remedy.',
    path: `/console/queue?subscription_id=${idOf(condition)}`,
  }),
  PARTNER_DOWN: (condition) => ({
    title: `The partner ${nameOf(condition)} ${condition.endedAt === null ? 'is' : 'was'} down`,
    more: endOf(condition),
    remedy:
      condition.endedAt === null
        ? 'The service keeps the notifications, and sends them when the partner answers again.'
        : 'The service now sends the notifications that it kept.',
    path: `/console/partners/${idOf(condition)}`,
  }),
  PARTNER_RECOVERED: (condition) => ({
    title: `The partner ${nameOf(condition)} accepts notifications again`,
    remedy: 'Notifications in the error queue may still need an operator.',
    path: `/console/partners/${idOf(condition)}`,
    isEvent: true,
  }),
  EXAM_SOON_UNDELIVERED: (condition) => ({
    title: `The partner ${nameOf(condition)} has not received ${counted(condition, 'notification', 'notifications')} of exams that start within 2 hours`,
    more: `The first of these exams starts at ${readable(condition.at!)}.`,
    remedy: 'Resend the notifications, or tell the partner by telephone.',
    path: `/console/queue?subscription_id=${idOf(condition)}`,
  }),
  UNMATCHED_RESULTS: (condition) => ({
    title: `${counted(condition, 'result', 'results')} could not be matched to an exam for more than 1 hour`,
    remedy: 'An operator must choose the exam of each result, or reject the result.',
    path: '/console/work/unmatched',
  }),
  APPROVALS_WAITING: (condition) => ({
    title: `${counted(condition, 'eligibility waits', 'eligibilities wait')} for the approval of accommodations for more than a day`,
    remedy: 'An operator must approve or decline the accommodations.',
    path: '/console/work/approvals',
  }),
  CERTIFICATE_EXPIRING: (condition) => ({
    title: `A certificate for the partner ${nameOf(condition)} ${isExpired(condition) ? 'expired' : 'expires'} at ${readable(condition.at!)}`,
    more: `The message concerns ${condition.detail}.`,
    remedy: isExpired(condition)
      ? 'Notifications to this partner fail until the certificate is replaced.'
      : 'After its expiry, notifications to this partner fail.',
    path: `/console/partners/${idOf(condition)}`,
    isEvent: true,
  }),
  AUDIT_BROKEN: (condition) => ({
    title: 'The audit log does not agree with its seals',
    more: `The fault was found ${condition.detail}.`,
    remedy:
      'Somebody may have changed or deleted rows. Run `npm run admin -- verify-audit`, and keep a copy of the database.',
    path: '/console/audit',
    isEvent: true,
  }),
  DELIVERY_STALLED: () => ({
    title: 'The service does not send notifications that are due',
    remedy: 'Check that a process with the role `delivery` runs, and read its log.',
    path: '/console/',
  }),
};

/** Returns whether the certificate has expired. `at` is its expiry, and `since` is the time of the survey. */
function isExpired({ at, since }: Condition): boolean {
  return at! <= since;
}

/** Returns the sentence about the end of a condition that ended before it was reported. */
function endOf({ endedAt }: Condition): string | undefined {
  return endedAt === null ? undefined : `The partner accepts notifications again since ${readable(endedAt)}.`;
}

function nameOf({ partner }: Condition): string {
  return partner?.name ?? '';
}

function idOf({ partner }: Condition): string {
  return encodeURIComponent(partner?.subscription_id ?? '');
}

function counted({ count }: Condition, one: string, more: string): string {
  return count === 1 ? `1 ${one}` : `${count} ${more}`;
}

/** Returns a time in UTC, in the form in which messages show it. */
function readable(time: Date): string {
  return `${formatDateTime(time).replace('T', ' ').slice(0, 16)} UTC`;
}

function accountText(codes: readonly string[] | null, names: ReadonlyMap<string, string>): string {
  if (codes === null) return 'Concerns: all accounts';
  if (codes.length === 0) return 'Account: not known';
  const named = codes.map((code) => (names.has(code) ? `${names.get(code)} (${code})` : code));
  return `${codes.length === 1 ? 'Account' : 'Accounts'}: ${named.join(', ')}`;
}

/** Returns the address of the console page on which an operator can deal with the condition. */
function addressOf({ path }: AlertContent, baseUrl: string): string {
  return `${baseUrl}${path}`;
}

export function plainText(content: AlertContent, baseUrl: string): string {
  return [`${content.title}.`, '', ...content.lines, '', addressOf(content, baseUrl), ''].join('\n');
}

/** Returns the message as an HTML page without images, external styles or scripts. */
export function htmlText(content: AlertContent, baseUrl: string): string {
  const lines = content.lines.map((line) => `<p style="margin:0 0 8px">${escaped(line)}</p>`);
  const address = escaped(addressOf(content, baseUrl));
  return [
    '<!doctype html><html lang="en"><head><meta charset="utf-8">',
    `<title>${escaped(content.title)}</title></head>`,
    '<body style="font-family:sans-serif;font-size:16px;line-height:1.5;color:#1a1a1a">',
    `<h1 style="font-size:20px;margin:0 0 12px">${escaped(content.title)}.</h1>`,
    ...lines,
    `<p style="margin:16px 0 0"><a href="${address}">Open the console</a><br>`,
    `<span style="color:#555;font-size:14px">${address}</span></p>`,
    '</body></html>',
  ].join('\n');
}

/** Returns the JSON body of the request to a webhook. Chat systems show its `text` member. */
export function webhookBody(content: AlertContent, alert: string, id: string, baseUrl: string): string {
  const { condition, title, since, account_codes, partner } = content;
  const text = plainText(content, baseUrl).trim();
  return JSON.stringify({
    id,
    alert,
    condition,
    title,
    text,
    since,
    account_codes: account_codes ?? [],
    partner,
    url: addressOf(content, baseUrl),
  });
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function escaped(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => ENTITIES[character]);
}

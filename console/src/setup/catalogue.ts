import { api, pageOf, type Page, type Schemas } from '../api/client';
import { counted } from '../components/counted';
import type { FieldValue, SchemaName } from '../components/form-rules';

/** An entry of any kind in an account's catalogue. */
export interface Entry {
  code: string;
  /** A summary of the catalogue entry in a few words. */
  text: string;
  more: string;
  /** The initial values of the form that edits the catalogue entry. */
  values: Record<string, FieldValue>;
  /** The portions of a test, one per line in the form `CODE name`. */
  portions?: string;
}

export interface Kind {
  title: string;
  one: string;
  codeLabel: string;
  schema: SchemaName;
  labels: Record<string, string>;
  initial: Record<string, FieldValue>;
  hasPortions?: boolean;
  load: (account: string, cursor: string | undefined, signal: AbortSignal) => Promise<Page<Entry>>;
  save: (account: string, code: string, body: never) => Promise<unknown>;
  remove: (account: string, code: string) => Promise<unknown>;
}

const list = (cursor: string | undefined) => ({ cursor, limit: 50 });
const entries = async <Row>(page: Promise<Page<Row>>, entryOf: (row: Row) => Entry): Promise<Page<Entry>> => {
  const { rows, next } = await page;
  return { rows: rows.map(entryOf), next };
};
const text = (value: string | number | null | undefined) => (value == null ? '' : String(value));

/** Describes the retake policy of a test in words. */
function retakeTexts(policy: Schemas['RetakeModel'] | null | undefined): string[] {
  const { wait_days: wait, max_attempts: most, period_days: period } = policy ?? {};
  return [
    ...(wait == null ? [] : [`retake after ${counted(wait, 'day', 'days')}`]),
    ...(most == null ? [] : [`${counted(most, 'attempt', 'attempts')}${period == null ? '' : ` in ${period} days`}`]),
  ];
}

/** The kinds of entries in an account's catalogue. */
export const KINDS: Record<string, Kind> = {
  tests: {
    title: 'Tests',
    one: 'test',
    codeLabel: 'Test code',
    schema: 'TestBody',
    labels: {
      name: 'Name',
      exam_code: 'Exam code',
      launch_url: 'Launch URL',
      duration_minutes: 'Duration in minutes',
      change_cutoff_hours: 'Latest change of a booking, in hours before the exam',
      launch_minutes_before: 'Earliest launch, in minutes before the exam',
      'retake/wait_days': 'Retake: wait in days after an attempt',
      'retake/max_attempts': 'Retake: maximum number of attempts',
      'retake/period_days': 'Retake: period in days in which attempts are counted',
    },
    initial: {
      name: '',
      exam_code: '',
      launch_url: '',
      duration_minutes: '',
      change_cutoff_hours: '',
      launch_minutes_before: '',
      'retake/wait_days': '',
      'retake/max_attempts': '',
      'retake/period_days': '',
    },
    hasPortions: true,
    load: (account_code, cursor, signal) =>
      entries(
        pageOf(
          api.GET('/admin/accounts/{account_code}/tests', {
            params: { path: { account_code }, query: list(cursor) },
            signal,
          }),
        ),
        ({ test_code: code, name, exam_code, launch_url, portions, warnings, retake, ...numbers }) => ({
          code,
          text: name,
          more: [
            portions.map(({ portion_code: portion }) => portion).join(', '),
            ...retakeTexts(retake),
            ...warnings.map(({ detail }) => detail),
          ].join(' · '),
          values: {
            name,
            exam_code: text(exam_code),
            launch_url: text(launch_url),
            duration_minutes: text(numbers.duration_minutes),
            change_cutoff_hours: text(numbers.change_cutoff_hours),
            launch_minutes_before: text(numbers.launch_minutes_before),
            'retake/wait_days': text(retake?.wait_days),
            'retake/max_attempts': text(retake?.max_attempts),
            'retake/period_days': text(retake?.period_days),
          },
          portions: portions
            .map(({ portion_code: portion, portion_name: title }) => [portion, title].filter(Boolean).join(' '))
            .join('\n'),
        }),
      ),
    save: (account_code, test_code, { retake, ...body }: Schemas['TestBody']) =>
      api.PUT('/admin/accounts/{account_code}/tests/{test_code}', {
        params: { path: { account_code, test_code } },
        // A policy whose members are all empty counts as no policy.
        body: { ...body, retake: Object.values(retake ?? {}).some((value) => value !== null) ? retake : null },
      }),
    remove: (account_code, test_code) =>
      api.DELETE('/admin/accounts/{account_code}/tests/{test_code}', { params: { path: { account_code, test_code } } }),
  },
  schools: {
    title: 'Schools',
    one: 'school',
    codeLabel: 'School code',
    schema: 'SchoolBody',
    labels: { name: 'Name' },
    initial: { name: '' },
    load: (account_code, cursor, signal) =>
      entries(
        pageOf(
          api.GET('/admin/accounts/{account_code}/schools', {
            params: { path: { account_code }, query: list(cursor) },
            signal,
          }),
        ),
        ({ school_code: code, name }) => ({ code, text: name, more: '', values: { name } }),
      ),
    save: (account_code, code, body: Schemas['SchoolBody']) =>
      api.PUT('/admin/accounts/{account_code}/schools/{code}', { params: { path: { account_code, code } }, body }),
    remove: (account_code, code) =>
      api.DELETE('/admin/accounts/{account_code}/schools/{code}', { params: { path: { account_code, code } } }),
  },
  accommodations: {
    title: 'Accommodations',
    one: 'accommodation',
    codeLabel: 'Accommodation code',
    schema: 'AccommodationBody',
    labels: { name: 'Name', requires_approval: 'Needs an operator’s approval' },
    initial: { name: '', requires_approval: false },
    load: (account_code, cursor, signal) =>
      entries(
        pageOf(
          api.GET('/admin/accounts/{account_code}/accommodations', {
            params: { path: { account_code }, query: list(cursor) },
            signal,
          }),
        ),
        ({ accommodation_code: code, name, requires_approval }) => ({
          code,
          text: name,
          more: requires_approval ? 'needs approval' : '',
          values: { name, requires_approval },
        }),
      ),
    save: (account_code, code, body: Schemas['AccommodationBody']) =>
      api.PUT('/admin/accounts/{account_code}/accommodations/{code}', {
        params: { path: { account_code, code } },
        body,
      }),
    remove: (account_code, code) =>
      api.DELETE('/admin/accounts/{account_code}/accommodations/{code}', { params: { path: { account_code, code } } }),
  },
  'attribute-keys': {
    title: 'Attribute keys',
    one: 'attribute key',
    codeLabel: 'Key',
    schema: 'AttributeKeyBody',
    labels: { name: 'Name' },
    initial: { name: '' },
    load: (account_code, cursor, signal) =>
      entries(
        pageOf(
          api.GET('/admin/accounts/{account_code}/attribute-keys', {
            params: { path: { account_code }, query: list(cursor) },
            signal,
          }),
        ),
        ({ attribute_key: code, name }) => ({ code, text: name, more: '', values: { name } }),
      ),
    save: (account_code, code, body: Schemas['AttributeKeyBody']) =>
      api.PUT('/admin/accounts/{account_code}/attribute-keys/{code}', {
        params: { path: { account_code, code } },
        body,
      }),
    remove: (account_code, code) =>
      api.DELETE('/admin/accounts/{account_code}/attribute-keys/{code}', { params: { path: { account_code, code } } }),
  },
  vouchers: {
    title: 'Vouchers',
    one: 'voucher',
    codeLabel: 'Voucher code',
    schema: 'VoucherBody',
    labels: {
      discount_type: 'Discount',
      discount_value: 'Value',
      currency: 'Currency (ISO 4217), for an amount only',
      test_codes: 'Only for these tests',
      valid_from: 'Valid from',
      valid_until: 'Valid until',
      max_uses: 'Maximum number of uses',
      disabled: 'Disabled',
    },
    initial: {
      discount_type: 'PERCENT',
      discount_value: '',
      currency: '',
      test_codes: [],
      valid_from: '',
      valid_until: '',
      max_uses: '',
      disabled: false,
    },
    load: (account_code, cursor, signal) =>
      entries(
        pageOf(
          api.GET('/admin/accounts/{account_code}/vouchers', {
            params: { path: { account_code }, query: list(cursor) },
            signal,
          }),
        ),
        ({ voucher_code: code, uses, account_code: _, ...voucher }) => ({
          code,
          text:
            voucher.discount_type === 'PERCENT'
              ? `${voucher.discount_value} %`
              : `${voucher.discount_value} ${text(voucher.currency)}`,
          more: `${uses} of ${voucher.max_uses ?? 1} used${voucher.disabled === true ? ', disabled' : ''}`,
          values: {
            discount_type: voucher.discount_type,
            discount_value: String(voucher.discount_value),
            currency: text(voucher.currency),
            test_codes: voucher.test_codes ?? [],
            valid_from: text(voucher.valid_from),
            valid_until: text(voucher.valid_until),
            max_uses: text(voucher.max_uses),
            disabled: voucher.disabled === true,
          },
        }),
      ),
    save: (account_code, code, { test_codes: tests, ...body }: Schemas['VoucherBody']) =>
      api.PUT('/admin/accounts/{account_code}/vouchers/{code}', {
        params: { path: { account_code, code } },
        body: { ...body, ...(tests?.length ? { test_codes: tests } : {}) },
      }),
    remove: (account_code, code) =>
      api.DELETE('/admin/accounts/{account_code}/vouchers/{code}', { params: { path: { account_code, code } } }),
  },
};

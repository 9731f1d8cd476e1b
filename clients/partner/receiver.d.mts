import type { IncomingMessage, ServerResponse } from 'node:http';

export type ChangeReason =
  'BOOKING_CREATED' | 'BOOKING_CANCELLED' | 'BOOKING_RESCHEDULED' | 'EXAM_COMPLETED' | 'EXCUSED_ABSENT' | 'ABSENT';

/** The body of a notification; members without a value are left out, and others may come. */
export interface NotificationRequest {
  booking_code: string;
  /** `YYYY-MM-DDThh:mm:ssZ`, as all dates. */
  booking_on: string;
  candidate_fname: string;
  candidate_id: string;
  candidate_lname: string;
  candidate_mname?: string;
  change_reason: ChangeReason;
  client_eligibility_id?: string;
  delivery_mode?: 'SITE_PROCTORED' | 'SVC_REMOTE_PROCTORED';
  effective_date: string;
  exam_code?: string;
  exam_portions?: { portion_code: string; portion_name?: string }[];
  location_address?: string;
  location_code?: string;
  location_name?: string;
  location_timezone?: string;
}

type Headers = Record<string, string | string[] | undefined>;

export interface Store {
  /** Whether the notification with this `webhook-id` was worked on. */
  has(id: string): Promise<boolean>;
  /** The newest `effective_date` known of a booking. */
  newestOf(bookingCode: string): Promise<string | null>;
  add(id: string, notification: NotificationRequest): Promise<void>;
}

export class MemoryStore implements Store {
  has(id: string): Promise<boolean>;
  newestOf(bookingCode: string): Promise<string | null>;
  add(id: string, notification: NotificationRequest): Promise<void>;
}

export type Receive = (headers: Headers, body: Buffer) => Promise<{ status: number; body: string }>;

export function isGenuine(headers: Headers, body: Buffer, secrets: string | string[], now?: number): boolean;
export function sign(id: string, timestamp: number | string, body: string | Buffer, ...secrets: string[]): string;
export function receiver(settings: {
  secrets: string | string[];
  store: Store;
  handle(notification: NotificationRequest, about: { id: string; isLate: boolean }): Promise<void>;
}): Receive;
export function nodeHandler(receive: Receive): (request: IncomingMessage, response: ServerResponse) => Promise<void>;
export function fastifyPlugin(receive: Receive, path?: string): (fastify: never) => Promise<void>;

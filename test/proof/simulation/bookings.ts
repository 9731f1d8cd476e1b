import {
  BookingCreated,
  BookingRescheduled,
  type ChangeReason,
  type NotificationRequest,
} from '../../../src/bookings/bookings.events.js';
import { newEventId } from '../../../src/platform/events/domain-event.js';
import { UnitOfWork } from '../../../src/platform/unit-of-work/unit-of-work.js';
import { processOf } from './simulated-time.js';
import type { Story } from './story.js';

const BOOKINGS = 4;
const EVENTS = 3;

interface Booking {
  readonly code: string;
  committed: number;
  busy: boolean;
}

/** Simulates a few bookings, whose events the processes commit. */
export class SimulatedBookings {
  private readonly bookings: Booking[] = [];

  constructor(private readonly story: Story) {
    for (let n = 0; n < BOOKINGS; n++)
      this.bookings.push({ code: `${story.account}${n}`.slice(-10), committed: 0, busy: false });
  }

  get isBusy(): boolean {
    return this.bookings.some(({ busy }) => busy);
  }

  /** Commits the next event of a randomly chosen booking. */
  async commit(): Promise<void> {
    const { account, chance, service, time, turns } = this.story;
    const booking = chance.pick(this.bookings);
    if (booking.busy || booking.committed === EVENTS) return;
    booking.busy = true;
    const sequence = booking.committed + 1;
    const [process, Event] = [chance.below(2), sequence === 1 ? BookingCreated : BookingRescheduled];
    const meta = {
      eventId: newEventId(),
      accountCode: account,
      stream: booking.code,
      sequence,
      occurredAt: time.now,
      traceparent: null,
    };
    this.story.tell(`commit ${booking.code} ${sequence}`);
    const unitOfWork = service.apps[process].get(UnitOfWork);
    const raise = () =>
      unitOfWork.run(() =>
        Promise.resolve(unitOfWork.raise(new Event(request(booking.code, Event.changeReason), meta))),
      );
    void processOf.run(process, raise).then(
      () => Object.assign(booking, { committed: sequence, busy: false }),
      () => (booking.busy = false),
    );
    await turns.quiet();
  }
}

function request(booking_code: string, change_reason: ChangeReason): NotificationRequest {
  return {
    booking_code,
    booking_on: '2030-01-01T09:00:00Z',
    candidate_fname: 'Ada',
    candidate_id: 'ADA-1',
    candidate_lname: 'Lovelace',
    change_reason,
    delivery_mode: 'SVC_REMOTE_PROCTORED',
    effective_date: '2029-12-31T09:00:00Z',
  };
}

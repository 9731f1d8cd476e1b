import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, dataOf, newIdempotencyKey, type Schemas } from '../api/client';
import { Button } from '../components/button';
import { Dialog } from '../components/dialog';
import { Form, FormField, useForm, type FormState } from '../components/form';
import { Picker } from '../components/picker';
import { Shown } from '../components/states';
import { HERE, isZone, local, localIn, toLocalText, toUtcText } from '../components/time-text';
import type { CandidateRecord } from './record-text';

interface Props {
  record: CandidateRecord;
  /** Whether the dialog moves the open booking to another appointment instead of creating a booking. */
  move: boolean;
  onClose: () => void;
  done: () => void;
}

type Booking = Schemas['BookingModel'];
type Request = Schemas['BookingRequest'];

export function BookingDialog({ record, move, onClose, done }: Props) {
  const { account_code: account, candidate } = record;
  const bookings = useQuery({
    queryKey: ['candidate', account, candidate.candidate_id, 'bookings'],
    enabled: move,
    queryFn: ({ signal }) =>
      dataOf(
        api.GET('/admin/accounts/{account_code}/candidates/{candidate_id}/bookings', {
          params: { path: { account_code: account, candidate_id: candidate.candidate_id } },
          signal,
        }),
      ),
  });
  const form = (booking?: Booking) => <BookingForm {...{ record, booking, onClose, done }} />;
  return (
    <Dialog title={move ? `Move booking ${record.booking_code}` : `Book ${record.test_code}`} onClose={onClose}>
      {move ? (
        <Shown query={bookings}>
          {(found) => form(found.find(({ booking_code: code }) => code === record.booking_code))}
        </Shown>
      ) : (
        form()
      )}
    </Dialog>
  );
}

function BookingForm({ record, booking, onClose, done }: Omit<Props, 'move'> & { booking?: Booking }) {
  const [key] = useState(newIdempotencyKey);
  const { account_code: account, candidate, test_code: test } = record;
  const form = useForm({
    schema: 'BookingRequest',
    initial: {
      booking_on: booking?.booking_on ?? '',
      delivery_mode: booking?.delivery_mode ?? 'SITE_PROCTORED',
      location_code: booking?.location_code ?? '',
      location_name: booking?.location_name ?? '',
      location_address: booking?.location_address ?? '',
      location_timezone: booking?.location_timezone ?? '',
    },
    perform: async (body: Request) => {
      const header = { 'Idempotency-Key': key };
      if (booking === undefined) {
        const path = { account_code: account, candidate_id: candidate.candidate_id, test_code: test };
        await api.POST('/accounts/{account_code}/candidates/{candidate_id}/tests/{test_code}/bookings', {
          params: { path, header },
          body,
        });
      } else {
        const path = { account_code: account, booking_code: booking.booking_code };
        await api.PUT('/accounts/{account_code}/bookings/{booking_code}', { params: { path, header }, body });
      }
      done();
    },
  });
  const typed = String(form.values['location_timezone'] ?? '');
  const zone = isZone(typed) ? typed : HERE;

  /** Sets the time zone. The start keeps its local time in the new zone, because exams are arranged in local time. */
  function moveTo(next: string) {
    const start = String(form.values['booking_on'] ?? '');
    if (start !== '' && isZone(next)) form.set('booking_on', toUtcText(toLocalText(start, zone), next));
    form.set('location_timezone', next);
  }

  return (
    <Form form={form} action={booking ? 'Move' : 'Book'} more={<Button onPress={onClose}>Close</Button>}>
      <FormField
        form={form}
        name="booking_on"
        label="Start"
        zone={zone}
        hint={<StartHint {...{ form, zone }} />}
        autoFocus
      />
      <FormField
        form={form}
        name="delivery_mode"
        label="Delivery mode"
        options={[
          ['SITE_PROCTORED', 'At a test centre'],
          ['SVC_REMOTE_PROCTORED', 'Remotely proctored'],
        ]}
      />
      <FormField form={form} name="location_code" label="Location code" />
      <FormField form={form} name="location_name" label="Location" />
      <FormField form={form} name="location_address" label="Address" />
      <Picker
        label="Time zone"
        hint="The time zone of the test centre, such as America/New_York."
        fault={form.faults['location_timezone']}
        options={ZONES}
        value={typed}
        onChange={moveTo}
      />
    </Form>
  );
}

const ZONES = Intl.supportedValuesOf('timeZone').map((zone) => [zone, zone] as const);

/** Shows the start of the exam in the chosen time zone, its place, and the start in the operator's own time zone. */
function StartHint({ form, zone }: { form: FormState; zone: string }) {
  const moment = new Date(String(form.values['booking_on'] ?? ''));
  if (Number.isNaN(moment.getTime())) return null;
  const place = ['location_name', 'location_address'].map((name) => form.values[name]).filter(Boolean);
  return (
    <>
      {[localIn(moment, zone), ...place].join(', ')}
      {zone !== HERE && `. Your time: ${local(moment)}`}
    </>
  );
}

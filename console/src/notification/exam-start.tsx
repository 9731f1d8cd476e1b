import { Time } from '../components/time';

interface Props {
  of: { booking_on: string | null; previous_booking_on: string | null; location_timezone: string | null };
}

/**
 * Shows the start of an exam in the time zone of its test centre. If the exam was moved, also shows the previous start.
 */
export function ExamStart({ of: { booking_on: at, previous_booking_on: before, location_timezone: zone } }: Props) {
  return (
    <span>
      <Time at={at} short zone={zone} />
      {before !== null && (
        <small>
          moved from <Time at={before} short zone={zone} />
        </small>
      )}
    </span>
  );
}

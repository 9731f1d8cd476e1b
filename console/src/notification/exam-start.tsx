import { Time } from '../components/time';

interface Props {
  of: { booking_on: string | null; previous_booking_on: string | null };
}

/** Shows the start of an exam and, after the exam was moved, its previous start. */
export function ExamStart({ of: { booking_on: at, previous_booking_on: before } }: Props) {
  return (
    <span>
      <Time at={at} short />
      {before !== null && (
        <small>
          moved from <Time at={before} short />
        </small>
      )}
    </span>
  );
}

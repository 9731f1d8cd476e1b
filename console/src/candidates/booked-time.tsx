import './candidates.css';
import { useQuery } from '@tanstack/react-query';
import { Time } from '../components/time';
import { candidateQueries } from './candidate-queries';
import type { CandidateRecord } from './record-text';

/** Shows the start of a booked exam in the time zone of its test centre, and the address of the test centre. */
export function BookedTime({ record }: { record: CandidateRecord }) {
  const { account_code, candidate, booking_code: code, booking_on: at } = record;
  const { data } = useQuery(candidateQueries({ account_code, candidate_id: candidate.candidate_id }).bookings);
  const booking = data?.find(({ booking_code: each }) => each === code);
  const place = [booking?.location_name, booking?.location_address].filter(Boolean).join(', ');
  return (
    <>
      <Time at={at} zone={booking?.location_timezone} />
      {/* Until the bookings arrive, a space reserves the line for the address, so that no content moves. */}
      {(place !== '' || (code !== null && data === undefined)) && (
        <small className="place">
          <bdi>{place || '\u00a0'}</bdi>
        </small>
      )}
    </>
  );
}

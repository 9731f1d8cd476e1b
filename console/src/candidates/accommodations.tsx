import { Isolated } from '../components/isolated';
import { accommodationNames, type CandidateRecord } from './record-text';

/** Shows the special accommodations of a record by name. */
export function Accommodations({ of }: { of: CandidateRecord }) {
  return <Isolated of={accommodationNames(of)} by=", " />;
}

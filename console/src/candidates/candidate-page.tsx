import './candidates.css';
import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { AccountName } from '../components/account-name';
import { LinkButton } from '../components/button';
import { Copyable } from '../components/copy';
import { Isolated } from '../components/isolated';
import { partsOf } from '../components/items';
import { Facts, Page, Section } from '../components/page';
import { isFirstAwaited, Loading, Shown } from '../components/states';
import { Accommodations } from './accommodations';
import { candidateQueries } from './candidate-queries';
import { CandidateRights } from './candidate-rights';
import { CandidateStory } from './candidate-story';
import { RecordPanel } from './record-panel';
import { nameOf, type CandidateRecord } from './record-text';

export function CandidatePage() {
  const { account, candidate } = useParams({ from: '/candidates/$account/$candidate' });
  return <CandidateItem id={`${account}/${candidate}`} />;
}

/** Shows a candidate on its own page, or beside a list. */
export function CandidateItem({ id }: { id: string }) {
  const [account, candidate] = partsOf(id);
  const queries = candidateQueries({ account_code: account, candidate_id: candidate });
  const records = useQuery(queries.records);
  // The page waits for the records and for the results, because the panel of each record also shows the state of its
  // result.
  const results = useQuery(queries.results);
  if (isFirstAwaited(results)) return <Loading />;
  return <Shown query={records}>{(found) => <Candidate records={found} />}</Shown>;
}

function Candidate({ records }: { records: readonly CandidateRecord[] }) {
  const [{ candidate, account_code: account }] = records;
  const { candidate_id: id } = candidate;
  const address = [
    candidate.address1,
    candidate.address2,
    candidate.city,
    candidate.province_state,
    candidate.postal_code,
    candidate.country,
  ].filter((part): part is string => Boolean(part));
  const attributes = candidate.additional_attributes?.map(({ key, value }) => `${key}: ${value}`) ?? [];
  const path = { account_code: account, candidate_id: id };
  return (
    <Page
      title={nameOf(candidate)}
      trail={<Link to="/candidates">Candidates</Link>}
      actions={
        <>
          <LinkButton to="/notifications" search={{ candidate_id: id, account_code: account }}>
            Notifications
          </LinkButton>
          <CandidateRights path={path} name={nameOf(candidate)} records={records} />
        </>
      }
    >
      <Facts
        of={[
          ['Candidate id', <Copyable text={id} />],
          ['Account', <AccountName code={account} />],
          ['E-mail', candidate.email],
          ['Telephone', [candidate.home_phone, candidate.office_phone].filter(Boolean).join(', ') || null],
          ['Address', address.length > 0 ? <Isolated of={address} by=", " /> : null],
          ['School', candidate.school_code],
          ['Accommodations', records[0].accommodations.length > 0 ? <Accommodations of={records[0]} /> : null],
          ['Attributes', attributes.length > 0 ? <Isolated of={attributes} /> : null],
        ]}
      />
      <Section title="Records">
        {records.map((record) => (
          <RecordPanel key={record.svc_eligiblity_id} record={record} />
        ))}
      </Section>
      <CandidateStory path={path} />
    </Page>
  );
}

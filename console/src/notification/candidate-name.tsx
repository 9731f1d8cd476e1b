/**
 * Shows the name of a candidate below the candidate's id. The name is null for an erased candidate, and in a
 * notification about a change to a record.
 */
export function CandidateName({ name }: { name: string | null }) {
  return (
    name !== null && (
      <small>
        <bdi>{name}</bdi>
      </small>
    )
  );
}

/** Shows the name of a candidate below the candidate's id. A notification about a change to a record has no name, and erased candidates have none. */
export function CandidateName({ name }: { name: string | null }) {
  return (
    name !== null && (
      <small>
        <bdi>{name}</bdi>
      </small>
    )
  );
}

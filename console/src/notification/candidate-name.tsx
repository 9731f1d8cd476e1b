/** Shows the name of a candidate below the candidate's id. A notification about a change of a record has no name. */
export function CandidateName({ name }: { name: string | null }) {
  return (
    name !== null && (
      <small>
        <bdi>{name}</bdi>
      </small>
    )
  );
}

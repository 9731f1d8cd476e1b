import type { Schemas } from '../api/client';

type Import = Schemas['ListedImportModel'];

export function isUnderWay({ state }: Import): boolean {
  return state === 'RECEIVING' || state === 'RUNNING';
}

/** Returns the name of the imported file. If the file has no name, returns a general name. */
export function importName({ file_name: name }: Import): string {
  return name ?? 'Import without a file name';
}

/** Shows the progress of an import, and the number of rows with each outcome. */
export function ImportProgress({ of }: { of: Import }) {
  const { done, rows, created, updated, unchanged, cancelled, refused } = of;
  return (
    <div className="progress">
      <progress max={Math.max(rows, 1)} value={done} aria-label="Rows processed" />
      <small>
        {done.toLocaleString('en')} of {rows.toLocaleString('en')}: {created.toLocaleString('en')} created,{' '}
        {updated.toLocaleString('en')} updated, {unchanged.toLocaleString('en')} unchanged,{' '}
        {cancelled.toLocaleString('en')} cancelled, {refused.toLocaleString('en')} refused
      </small>
    </div>
  );
}

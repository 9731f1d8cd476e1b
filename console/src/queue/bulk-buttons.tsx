import { useState } from 'react';
import { Button } from '../components/button';
import { BulkDialog, type BulkKind } from './bulk-dialog';
import type { QueueFilter } from './filter-text';

interface Props {
  kinds: readonly BulkKind[];
  filter: QueueFilter;
  /** The first button's look; the others are plain. */
  primary?: boolean;
  small?: boolean;
  /** What is acted on, where several such buttons stand on a page. */
  of?: string;
}

const LABELS: Record<BulkKind, string> = { resend: 'Resend …', resolve: 'Resolve …', replay: 'Replay …' };

/** Buttons that act on everything that a filter matches, after a dialog that counts it. */
export function BulkButtons({ kinds, filter, primary = false, small = false, of }: Props) {
  const [open, setOpen] = useState<BulkKind | null>(null);
  return (
    <>
      {kinds.map((kind, index) => (
        <Button
          key={kind}
          small={small}
          kind={primary && index === 0 ? 'primary' : 'plain'}
          aria-label={of === undefined ? undefined : `${LABELS[kind]} ${of}`}
          onPress={() => setOpen(kind)}
        >
          {LABELS[kind]}
        </Button>
      ))}
      {open && <BulkDialog kind={open} filter={filter} onClose={() => setOpen(null)} />}
    </>
  );
}

import { useState } from 'react';
import { Button } from '../components/button';
import { later, useLater } from '../components/later';
import type { BulkKind } from './bulk-dialog';
import type { QueueFilter } from './filter-text';

interface Props {
  kinds: readonly BulkKind[];
  filter: QueueFilter;
  /** Whether the first of the buttons is shown as the page's main action. */
  primary?: boolean;
  small?: boolean;
  /**
   * A description of the rows on which the buttons act. It is part of the buttons' labels for screen readers, so that
   * users can distinguish several groups of buttons on one page.
   */
  of?: string;
}

const LABELS: Record<BulkKind, string> = { resend: 'Resend …', resolve: 'Resolve …', replay: 'Replay …' };

const bulkDialog = later(async () => (await import('./bulk-dialog')).BulkDialog);

/** Shows buttons for actions on all rows that a filter matches. A dialog first shows how many rows match. */
export function BulkButtons({ kinds, filter, primary = false, small = false, of }: Props) {
  const [chosen, choose] = useState<BulkKind | null>(null);
  const { Part: Dialog, open, close } = useLater(bulkDialog);
  return (
    <>
      {kinds.map((kind, index) => (
        <Button
          key={kind}
          small={small}
          kind={primary && index === 0 ? 'primary' : 'plain'}
          aria-label={of === undefined ? undefined : `${LABELS[kind]} ${of}`}
          onPress={() => {
            choose(kind);
            open();
          }}
        >
          {LABELS[kind]}
        </Button>
      ))}
      {Dialog && chosen && <Dialog kind={chosen} filter={filter} onClose={close} />}
    </>
  );
}

import { AccountNameInline } from '../components/account-name';
import type { Schemas } from '../api/client';
import { Badge } from '../components/badge';
import { Section } from '../components/page';
import { Empty } from '../components/states';
import { HeldNote, useSteady } from '../components/steady';
import { Time } from '../components/time';
import { NextAttempt } from '../notification/next-attempt';
import { PartnerLink } from '../notification/partner-link';
import { partnerTitle } from '../partners/partner-name';
import { certificateText } from '../partners/condition';
import { BulkButtons } from '../queue/bulk-buttons';

type Partner = Schemas['PartnerConditionModel'];
type Counts = Schemas['OverviewModel']['partners'];

/**
 * Lists the partners that need attention. Partners with the most severe problems are first. A partner whose attempts
 * all fail is listed regardless of its health.
 */
export function PartnersInTrouble({ partners, counts }: { partners: readonly Partner[]; counts: Counts }) {
  const { rows, gone, frame, held } = useSteady(partners, idOf);
  const others = counts.down + counts.failing + counts.suspended + counts.unverified - partners.length;
  return (
    <div ref={frame} tabIndex={-1} className="troubles-frame">
      <Section title="Partners with problems" actions={held && <HeldNote held={held} />}>
        {rows.length === 0 && (
          <Empty good>
            {counts.well === 0
              ? 'No partner is connected yet.'
              : counts.well === 1
                ? 'The only connected partner is healthy.'
                : `All ${counts.well.toLocaleString('en')} partners are healthy.`}
          </Empty>
        )}
        <ul className="troubles">
          {rows.map((partner) => (
            <li key={partner.subscription_id} className={gone.has(partner.subscription_id) ? 'panel gone' : 'panel'}>
              <div className="trouble-name">
                <PartnerLink id={partner.subscription_id}>{partnerTitle(partner)}</PartnerLink>
                <small>
                  <AccountNameInline code={partner.account_code} />
                </small>
              </div>
              <Trouble partner={partner} />
              <span className="trouble-queue">
                {partner.queued > 0 && (
                  <>
                    <strong>{partner.queued.toLocaleString('en')}</strong> in the error queue{' '}
                    <BulkButtons
                      small
                      kinds={['resend']}
                      filter={{ subscription_id: partner.subscription_id }}
                      of={partnerTitle(partner)}
                    />
                  </>
                )}
              </span>
            </li>
          ))}
        </ul>
        {others > 0 && <p className="hint">… and {others.toLocaleString('en')} more.</p>}
      </Section>
    </div>
  );
}

function idOf({ subscription_id: id }: Partner): string {
  return id;
}

function Trouble({ partner }: { partner: Partner }) {
  const { state, health, down_since: down, failing_since: failing, next_probe_at: probe, paused_until: busy } = partner;
  return (
    <span className="line">
      {state !== 'ACTIVE' && <Badge state={state} />}
      {health === 'DOWN' && (
        <>
          <Badge state="DOWN" />
          <span>
            since <Time at={down} compact />
            {probe && (
              <>
                , next attempt <NextAttempt at={probe} compact />
              </>
            )}
          </span>
        </>
      )}
      {busy && (
        <span>
          busy until <Time at={busy} compact />
        </span>
      )}
      {health === 'UP' && failing && (
        <>
          <Badge state="FAILING" />
          <span>
            all attempts failed since <Time at={failing} compact />
          </span>
        </>
      )}
      <EndingCertificate notAfter={partner.certificate_not_after} />
    </span>
  );
}

function EndingCertificate({ notAfter }: { notAfter: string | null | undefined }) {
  const [text, tone] = certificateText(notAfter) ?? [];
  if (tone === undefined || tone === 'quiet') return null;
  return <Badge state={`Certificate: ${text}`} tone={tone} />;
}

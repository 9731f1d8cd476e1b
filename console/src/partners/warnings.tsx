import type { Schemas } from '../api/client';

/** Settings of a partner that may be a mistake. */
export function Warnings({ of }: { of: Schemas['SubscriptionModel']['warnings'] }) {
  return of.map(({ code, detail }) => (
    <p key={code} className="note warn">
      {detail}
    </p>
  ));
}

import type { Schemas } from '../api/client';

/** Shows warnings about settings of a partner that may be mistakes. */
export function Warnings({ of }: { of: Schemas['SubscriptionModel']['warnings'] }) {
  return of.map(({ code, detail }) => (
    <p key={code} className="note warn">
      {detail}
    </p>
  ));
}

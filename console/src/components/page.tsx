import { createContext, useContext, useEffect, useRef, type ReactNode } from 'react';
import { PRODUCT } from './product';

interface Props {
  title: string;
  /** A badge next to the title, which shows the state of the page's item. */
  badge?: ReactNode;
  /** Links above the title to the parent pages. */
  trail?: ReactNode;
  actions?: ReactNode;
  /** A sentence below the title that explains the page. */
  lead?: ReactNode;
  children: ReactNode;
}

let first = true;

/** The function that closes the item that is open beside a list; null outside such an item. */
export const CloseItem = createContext<(() => void) | null>(null);

/**
 * Shows a page of the console. The component sets the window's title, and focuses the page's heading after navigation.
 * If the page is shown beside a list, the window keeps the title of the list, and the links to the parent pages are
 * omitted.
 */
export function Page({ title, badge, trail, actions, lead, children }: Props) {
  const heading = useRef<HTMLHeadingElement>(null);
  const isBeside = useContext(CloseItem) !== null;
  useEffect(() => {
    if (!isBeside) document.title = `${title} · ${PRODUCT}`;
  }, [title, isBeside]);
  useEffect(() => {
    if (!first) heading.current?.focus({ preventScroll: true });
    first = false;
  }, []);
  return (
    <>
      {trail && !isBeside && (
        <nav className="trail" aria-label="Breadcrumb">
          {trail}
        </nav>
      )}
      <header className="page-head">
        <h1 ref={heading} tabIndex={-1}>
          <bdi>{title}</bdi>
        </h1>
        {badge}
        {actions && <div className="actions">{actions}</div>}
      </header>
      {lead && <p className="lead">{lead}</p>}
      {children}
    </>
  );
}

/** Shows a list of terms with their values, in columns. */
export function Facts({ of }: { of: readonly (readonly [term: string, value: ReactNode])[] }) {
  return (
    <dl className="facts">
      {of.map(([term, value]) => (
        <div key={term}>
          <dt>{term}</dt>
          <dd>{value ?? <span className="nothing">–</span>}</dd>
        </div>
      ))}
    </dl>
  );
}

/** Shows a part of a page with its own heading. */
export function Section({ title, actions, children }: { title: string; actions?: ReactNode; children: ReactNode }) {
  return (
    <section className="section" aria-label={title}>
      <header>
        <h2>{title}</h2>
        {actions && <div className="actions">{actions}</div>}
      </header>
      {children}
    </section>
  );
}

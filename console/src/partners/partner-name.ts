interface Named {
  subscription_name?: string | null;
  partner_url: string | null;
}

const NO_NAME = 'Partner without a name';

/** Returns the name of a partner or, if the partner has no name, the host in its address. */
export function partnerName({ subscription_name: name, partner_url: url }: Named): string {
  return name ?? (url === null ? NO_NAME : hostOf(url));
}

/**
 * Returns the name of a partner or, if the partner has no name, its whole address. Use this function on pages that may
 * list several partners with the same host.
 */
export function partnerTitle({ subscription_name: name, partner_url: url }: Named): string {
  return name ?? url ?? NO_NAME;
}

function hostOf(url: string): string {
  return (URL.canParse(url) && new URL(url).host) || url;
}

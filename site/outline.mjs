// What stands in the guide, in the order in which it is offered: [title, source in the repository, page].
// What has no source is made by ./reference.mjs, or is a part of another page.
export const OUTLINE = [
  [
    'Start',
    [
      ['What this is', 'docs/README.md', 'index.html'],
      ['Five minutes', 'docs/start.md', 'start.html'],
      ['A walk through', 'README.md', 'readme.html'],
      ['Concepts', 'docs/concepts.md', 'concepts.html'],
      ['Glossary', null, 'concepts.html#glossary'],
    ],
  ],
  [
    'Guides',
    [
      ['For clients', 'docs/clients.md', 'clients.html'],
      ['Import and export', 'docs/import.md', 'import.html'],
      ['Client for TypeScript', 'clients/typescript/README.md', 'client-package.html'],
      ['For test drivers', 'docs/test-drivers.md', 'test-drivers.html'],
      ['For partners', 'docs/notifications.md', 'notifications.html'],
      ['Package for partners', 'clients/partner/README.md', 'partner-package.html'],
      ['The sandbox’s tools', 'docs/sandbox.md', 'sandbox.html'],
    ],
  ],
  [
    'Operate',
    [
      ['Install', 'docs/install.md', 'install.html'],
      ['Operations', 'docs/operations.md', 'operations.html'],
      ['Console', 'docs/console.md', 'console.html'],
      ['Runbook', 'docs/runbook.md', 'runbook.html'],
      ['High availability', 'docs/high-availability.md', 'high-availability.html'],
      ['Scaling', 'docs/scaling.md', 'scaling.html'],
      ['Candidates’ rights', 'docs/privacy.md', 'privacy.html'],
      ['Upgrade', 'docs/upgrade.md', 'upgrade.html'],
    ],
  ],
  [
    'Reference',
    [
      ['API', null, 'api.html'],
      ['Error catalogue', 'docs/problems.md', 'problems.html'],
      ['Contract', 'docs/contract.md', 'contract.html'],
      ['Token service', 'docs/oauth.md', 'oauth.html'],
      ['Settings', 'docs/configuration.md', 'configuration.html'],
      ['Specification', 'docs/specification.md', 'specification.html'],
      ['Versions', 'docs/versioning.md', 'versioning.html'],
      ['Metrics', null, 'operations.html#metrics'],
    ],
  ],
  [
    'Inside',
    [
      ['Architecture', 'docs/architecture.md', 'architecture.html'],
      ['Delivery', 'docs/delivery.md', 'delivery.html'],
      ['Data', 'docs/data.md', 'data.html'],
      ['Security', 'docs/security.md', 'security.html'],
      ['Report a vulnerability', 'SECURITY.md', 'vulnerabilities.html'],
      ['Performance', 'docs/performance.md', 'performance.html'],
      ['Decisions', 'docs/decisions/README.md', 'decisions/index.html'],
      ['Changes', 'CHANGELOG.md', 'changes.html'],
      ['Contribute', 'CONTRIBUTING.md', 'contribute.html'],
    ],
  ],
];

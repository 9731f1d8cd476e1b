import { Link } from '@tanstack/react-router';

export function SetupNav() {
  return (
    <>
      <Link to="/setup" activeOptions={{ exact: true }}>
        Accounts
      </Link>
      <Link to="/setup/users">Users</Link>
      <Link to="/setup/applications">Applications</Link>
      <Link to="/setup/alerts">Alerts</Link>
      <Link to="/setup/connect-client">Connect a client</Link>
      <Link to="/setup/connect-partner">Connect a partner</Link>
    </>
  );
}

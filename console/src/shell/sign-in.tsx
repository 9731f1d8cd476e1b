import { useEffect, useRef, useState, type FormEvent } from 'react';
import { ProblemError } from '../api/problem';
import { signIn, signInAtOrganisation, type SignInWays } from '../api/session';
import { Button } from '../components/button';
import { TextField } from '../components/fields';

export function SignInForm({ ways, username = '' }: { ways: SignInWays; username?: string }) {
  const [name, setName] = useState(username);
  const [password, setPassword] = useState('');
  const [missing, setMissing] = useState(false);
  const [refusal, setRefusal] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => {
    if (missing) form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
  }, [missing]);

  async function submit(event: FormEvent) {
    event.preventDefault();
    const isMissing = name === '' || password === '';
    setMissing(isMissing);
    setRefusal(null);
    if (isMissing || busy) return;
    setBusy(true);
    try {
      await signIn(name, password);
    } catch (error) {
      setRefusal(explanationOf(error));
      setBusy(false);
      form.current?.querySelector<HTMLElement>('[type="password"]')?.focus();
    }
  }

  const withPassword = (
    <form ref={form} className="form" noValidate onSubmit={(event) => void submit(event)}>
      <TextField
        label="User name"
        name="username"
        autoComplete="username"
        value={name}
        onChange={setName}
        autoFocus={username === ''}
        required
        fault={missing && name === '' ? 'Required.' : undefined}
      />
      <TextField
        label="Password"
        name="password"
        type="password"
        autoComplete="current-password"
        value={password}
        onChange={setPassword}
        autoFocus={username !== ''}
        required
        fault={missing && password === '' ? 'Required.' : undefined}
      />
      {refusal && (
        <p className="note bad" role="alert">
          {refusal}
        </p>
      )}
      <div className="actions">
        <Button type="submit" kind="primary" isPending={busy}>
          Sign in
        </Button>
      </div>
    </form>
  );
  return (
    <>
      {ways.password && withPassword}
      {ways.organisation && (
        <p className="actions">
          <Button kind={ways.password ? 'plain' : 'primary'} onPress={signInAtOrganisation}>
            Sign in with your organisation
          </Button>
        </p>
      )}
      {!ways.password && (
        // The password form remains available, because partners sign in with a password even if operators must sign in
        // through their organisation.
        <details>
          <summary>Partners: sign in with a password</summary>
          {withPassword}
        </details>
      )}
    </>
  );
}

function explanationOf(error: unknown): string {
  if (!(error instanceof ProblemError)) return String(error);
  if (error.problem.code === 'sign_in_refused')
    return 'The user name or the password is wrong, or you are not allowed to sign in here. After several wrong passwords, the user name is locked for a few minutes.';
  // Status 429 means that the IP address of the browser has sent too many requests, or that too many wrong passwords
  // were sent for the user name. The `detail` of the problem states the waiting time.
  if (error.status === 429) return error.problem.detail ?? error.message;
  return [error.message, error.problem.detail].filter(Boolean).join('. ');
}

import { EnvironmentReader } from '../platform/environment-reader.js';
import { AlertsConfig } from './alerts.config.js';

const SMTP_URL = 'smtp://user:secret@mail.example:587';
const MAIL_FROM = 'Exams <exams@example.org>';

function faults(env: Record<string, string>): string[] {
  const read = new EnvironmentReader(env);
  new AlertsConfig(read);
  return read.faults;
}

describe('the mail settings', () => {
  it('mail is enabled if both SMTP_URL and MAIL_FROM are set', () => {
    expect(new AlertsConfig(new EnvironmentReader({})).hasMail).toBe(false);
    expect(new AlertsConfig(new EnvironmentReader({ SMTP_URL, MAIL_FROM })).hasMail).toBe(true);
    expect(faults({ SMTP_URL: 'smtps://mail.example', MAIL_FROM: 'exams@example.org' })).toEqual([]);
  });

  it('an error about a mail setting names the setting, but does not reveal its value', () => {
    expect(faults({ SMTP_URL })).toEqual(['MAIL_FROM must be set, because mail needs both settings']);
    expect(faults({ MAIL_FROM })).toEqual(['SMTP_URL must be set, because mail needs both settings']);
    const wrong = faults({ SMTP_URL: 'https://user:secret@mail.example', MAIL_FROM: 'secret' });
    expect(wrong.map((line) => line.split(' ')[0])).toEqual(['SMTP_URL', 'MAIL_FROM']);
    expect(wrong.join()).not.toContain('secret');
  });
});

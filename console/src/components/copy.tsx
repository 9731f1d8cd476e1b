import { Button } from './button';
import { toast } from './toast';

/** Shows a text, such as an id, with a button that copies it to the clipboard. */
export function Copyable({ text, shown = text }: { text: string; shown?: string }) {
  return (
    <span className="copyable">
      <code>{shown}</code>
      <CopyButton text={text} label="Copy" />
    </span>
  );
}

export function CopyButton({ text, label }: { text: string | (() => string); label: string }) {
  return (
    <Button small onPress={() => void copy(typeof text === 'string' ? text : text())}>
      {label}
    </Button>
  );
}

async function copy(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    toast('Copied.');
  } catch {
    toast('The browser does not let this page copy. Select the text and copy it yourself.', 'bad');
  }
}

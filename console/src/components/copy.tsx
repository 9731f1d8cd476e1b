import { Button } from './button';
import { Code } from './code';
import { toast } from './toast';

/** Shows a string, such as an id, with a button that copies it to the clipboard. */
export function Copyable({ text, shown = text }: { text: string; shown?: string }) {
  return (
    <span className="copyable">
      <Code>{shown}</Code>
      <CopyButton text={text} label="Copy" />
    </span>
  );
}

interface CopyButtonProps {
  text: string | (() => string);
  label: string;
  small?: boolean;
}

export function CopyButton({ text, label, small = true }: CopyButtonProps) {
  return (
    <Button small={small} onPress={() => void copy(typeof text === 'string' ? text : text())}>
      {label}
    </Button>
  );
}

async function copy(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    toast('Copied.');
  } catch {
    toast('Your browser does not allow this page to copy text. Select the text and copy it manually.', 'bad');
  }
}

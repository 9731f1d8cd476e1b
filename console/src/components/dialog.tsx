import type { ReactNode } from 'react';
import { Dialog as AriaDialog } from 'react-aria-components/Dialog';
import { Heading } from 'react-aria-components/Heading';
import { Modal, ModalOverlay } from 'react-aria-components/Modal';

interface Props {
  title: string;
  /**
   * The name of a person or an object in the title. Its text direction does not affect the other words of the title.
   */
  name?: string;
  /** Called when the user dismisses the dialog. If the function is omitted, the dialog cannot be dismissed. */
  onClose?: () => void;
  children: ReactNode;
  role?: 'dialog' | 'alertdialog';
}

/**
 * Shows a modal dialog. The focus stays inside the dialog. Escape closes the dialog, and the focus then returns to the
 * element that had it before.
 */
export function Dialog({ title, name, onClose, children, role = 'dialog' }: Props) {
  return (
    <ModalOverlay
      className="overlay"
      isOpen
      isDismissable={false}
      isKeyboardDismissDisabled={onClose === undefined}
      onOpenChange={(open) => !open && onClose?.()}
    >
      <Modal className="modal">
        <AriaDialog className="dialog" role={role}>
          <Heading slot="title">{name ? isolated(title, name) : title}</Heading>
          {children}
        </AriaDialog>
      </Modal>
    </ModalOverlay>
  );
}

function isolated(title: string, name: string): ReactNode {
  const [before, ...after] = title.split(name);
  return (
    <>
      {before}
      {after.length > 0 && <bdi>{name}</bdi>}
      {after.join(name)}
    </>
  );
}

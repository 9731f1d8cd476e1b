import type { ReactNode } from 'react';
import { Dialog as AriaDialog } from 'react-aria-components/Dialog';
import { Heading } from 'react-aria-components/Heading';
import { Modal, ModalOverlay } from 'react-aria-components/Modal';

interface Props {
  title: string;
  /** Called when the user dismisses the dialog; without this function the dialog cannot be dismissed. */
  onClose?: () => void;
  children: ReactNode;
  role?: 'dialog' | 'alertdialog';
}

/** Shows a modal dialog: it traps the focus, Escape closes it, and the focus returns to its previous place. */
export function Dialog({ title, onClose, children, role = 'dialog' }: Props) {
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
          <Heading slot="title">{title}</Heading>
          {children}
        </AriaDialog>
      </Modal>
    </ModalOverlay>
  );
}

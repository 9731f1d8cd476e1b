import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useContext } from 'react';
import { CloseItem } from '../components/page';
import { toast } from '../components/toast';

/**
 * Returns a function to call after a decision about a result. The function shows the outcome, and then the list of
 * results.
 */
export function useSettled(): (text: string) => void {
  const queries = useQueryClient();
  const navigate = useNavigate();
  const close = useContext(CloseItem);
  return (text) => {
    toast(text);
    void queries.invalidateQueries({ queryKey: ['unmatched'] });
    void queries.invalidateQueries({ queryKey: ['overview'] });
    if (close) close();
    else void navigate({ to: '/work/unmatched' });
  };
}

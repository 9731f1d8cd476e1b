import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, dataOf } from '../api/client';
import { Button } from '../components/button';
import { confirm } from '../components/confirm';
import { Dialog } from '../components/dialog';
import { Shown } from '../components/states';
import type { Result } from './story';

/** Shows the sender of a result, and buttons that open the content of the result. */
export function ResultButtons({ result }: { result: Result }) {
  const [media, setMedia] = useState<boolean | null>(null);

  async function showMedia() {
    const done = await confirm({
      title: 'Show the photo and the video link?',
      text: 'The audit log will record that you viewed the photo and the video link.',
      action: 'Show',
      perform: () => Promise.resolve(),
    });
    if (done) setMedia(true);
  }

  return (
    <>
      <p className="hint">
        Revision {result.revision}, sent by {result.username}
        {result.simulated && '. The exam was simulated, so the result did not change the state of the record'}
      </p>
      <div className="actions">
        <Button small onPress={() => setMedia(false)}>
          Show the result
        </Button>
        {(result.has_photo || result.has_video_link) && (
          <Button small onPress={() => void showMedia()}>
            Photo and link …
          </Button>
        )}
      </div>
      {media !== null && <ResultDialog result={result} media={media} onClose={() => setMedia(null)} />}
    </>
  );
}

function ResultDialog({ result, media, onClose }: { result: Result; media: boolean; onClose: () => void }) {
  const { svc_eligiblity_id: id, revision, test_code: test } = result;
  const found = useQuery({
    queryKey: ['result', id, revision, media],
    gcTime: 0,
    staleTime: Infinity,
    queryFn: ({ signal }) =>
      dataOf(
        api.GET('/admin/eligibilities/{svc_id}/results/{revision}', {
          params: { path: { svc_id: id, revision: String(revision) }, query: media ? { media: 'true' } : {} },
          signal,
        }),
      ),
  });
  return (
    <Dialog title={`Result of ${test}, revision ${revision}`} onClose={onClose}>
      <Shown query={found}>
        {({ body }) =>
          body === undefined ? (
            <p>This result has not been released. To read it, you need the “results” scope.</p>
          ) : (
            <pre className="result" tabIndex={0} aria-label="Result">
              {JSON.stringify(body, null, 2)}
            </pre>
          )
        }
      </Shown>
      <div className="actions end">
        <Button onPress={onClose}>Close</Button>
      </div>
    </Dialog>
  );
}

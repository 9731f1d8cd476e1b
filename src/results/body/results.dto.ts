import { Field, ObjectField, ObjectListField, TolerantReader } from '../../platform/validation/fields.js';
import type { Rule } from '../../platform/validation/rules.js';
import { photo, spelledId, spelledInteger, spelledText } from './spelled-rules.js';

// The limits of individual members. They keep each member small enough to index, show and process. The size limit of
// the whole body applies in addition.
/** The maximum size of a result's body. */
export const MOST_BODY_BYTES = 8 * 1024 * 1024;
const MOST_PHOTO_BYTES = 5 * 1024 * 1024;
const MOST_ENTRIES = 50_000;
export const MOST_LETTERS_OF_CODE = 500;
const MOST_LETTERS_OF_LINK = 2_000;
export const MOST_LETTERS = 10_000;
const MOST_LETTERS_OF_COMMENTS = 1_000_000;
const MOST_COUNT = 1e18;

const words = spelledText({ max: MOST_LETTERS });
const comments = spelledText({ max: MOST_LETTERS_OF_COMMENTS, lines: true });
const driverCode = spelledId(MOST_LETTERS_OF_CODE);
const count = spelledInteger(-MOST_COUNT, MOST_COUNT);

/** The rule for a flag, which is a JSON boolean or one of the strings that test drivers send instead. */
const flag: Rule = {
  schema: {
    anyOf: [
      { type: 'boolean' },
      { type: 'string', maxLength: 5, pattern: '^([Tt][Rr][Uu][Ee]|[Ff][Aa][Ll][Ss][Ee])$' },
      { type: 'null' },
    ],
  },
  faults: (value) =>
    typeof value === 'boolean' || (typeof value === 'string' && /^(true|false)$/i.test(value))
      ? []
      : [{ pointer: '', code: 'type_invalid', detail: 'Must be true or false.' }],
};

type Flag = boolean | string | null;

class EventComment {
  @Field(comments)
  comments?: string | null;

  @Field(count)
  duration?: number | null;

  @Field(count)
  eventFinish?: number | null;

  @Field(count)
  eventStart?: number | null;

  @Field(words)
  eventStatus?: string | null;
}

class OrgExtra {
  @Field(words)
  examEndDate?: string | null;

  @Field(words)
  examStartDate?: string | null;

  @Field(count)
  noOfStudents?: number | null;
}

class ExamApiData {
  @Field(count)
  duration?: number | null;

  @Field(driverCode)
  examCode?: string | null;

  @Field(words)
  examName?: string | null;

  @Field(words)
  examPassword?: string | null;

  @Field(words)
  examSponsor?: string | null;

  @Field(words)
  examUrl?: string | null;

  @ObjectField(() => OrgExtra)
  orgExtra?: OrgExtra | null;

  @Field(words)
  organization?: string | null;

  @Field(flag)
  reviewedExam?: Flag;

  @Field(comments)
  reviewerNotes?: string | null;

  @Field(words)
  extProduct?: string | null;
}

class ExamMetaData {
  @Field(driverCode)
  examCode?: string | null;

  @Field(words)
  examName?: string | null;

  @Field(words)
  examSponsor?: string | null;

  @Field(words)
  organization?: string | null;

  @Field(flag)
  reviewedExam?: Flag;

  @Field(comments)
  reviewerNotes?: string | null;

  @Field(flag)
  simulatedExam?: Flag;

  @Field(words)
  extExamToken?: string | null;

  @Field(words)
  extProduct?: string | null;

  @Field(driverCode)
  extRecordLocator?: string | null;
}

/** The body of a registration result. */
@TolerantReader()
export class CandidateResultsDetails {
  @ObjectListField(() => EventComment, MOST_ENTRIES)
  desktopComments?: EventComment[] | null;

  @ObjectListField(() => EventComment, MOST_ENTRIES)
  webCamComments?: EventComment[] | null;

  @ObjectField(() => ExamApiData)
  examApiData?: ExamApiData | null;

  @Field(words, { description: 'Date of the exam, as free text.', example: 'Jul 15 2015  1:13AM' })
  examDate?: string | null;

  @ObjectField(() => ExamMetaData)
  examMetaData?: ExamMetaData | null;

  @Field(words)
  examProcessingStatus?: string | null;

  @Field(spelledId(MOST_LETTERS), {
    description: 'Free text, which is compared with the e-mail address of the record regardless of case.',
  })
  examTakerEmail?: string | null;

  @Field(words)
  examTakerFirstName?: string | null;

  @Field(words)
  examTakerLastName?: string | null;

  @Field(words)
  keySetVersion?: string | null;

  @Field(comments)
  overAllComments?: string | null;

  @Field(words)
  reviewStatus?: string | null;

  @Field(photo(MOST_PHOTO_BYTES, MOST_BODY_BYTES), {
    description: 'The photo in base64: at most 5 MiB after decoding, and possibly empty. It is stored encrypted.',
  })
  userPhotoBase64String?: string | null;

  @Field(spelledText({ max: MOST_LETTERS_OF_LINK }), {
    description: 'The address of the video. It is stored encrypted, and the service never opens it.',
  })
  videoReviewLink?: string | null;
}

class CategoryScore {
  @Field(words)
  category_name?: string | null;

  @Field(words)
  category_order?: string | null;

  @Field(words)
  category_score_pct?: string | null;
}

/** The body of an account result. */
@TolerantReader()
export class CandidateResultData {
  @Field(driverCode)
  candidate_id?: string | null;

  @ObjectListField(() => CategoryScore, MOST_ENTRIES)
  category_scores?: CategoryScore[] | null;

  @Field(count)
  category_total_count?: number | null;

  @Field(words)
  overall_score_label?: string | null;

  @Field(words)
  overall_score_pct?: string | null;

  @Field(count)
  overall_score_scaled?: number | null;

  @Field(words)
  result?: string | null;

  @Field(driverCode, { description: 'The id of the result, which is unique in the account.' })
  result_id?: string | null;
}

/** The members by which a registration result is matched, each as a path of member names. */
export const DECIDING_OF_REGISTRATION = [
  ['examMetaData', 'examCode'],
  ['examMetaData', 'extRecordLocator'],
  ['examApiData', 'examCode'],
  ['examTakerEmail'],
] as const;

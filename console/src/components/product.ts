/** The name of the product, which is shown beside its logo. */
export const PRODUCT = 'Admit';

export { home } from '../../console/src/home/home';

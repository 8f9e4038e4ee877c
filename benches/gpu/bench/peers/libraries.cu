// cuBLAS and cuSPARSE, looked for when the program runs. Their headers are not needed: the few types and numbers that are used stand
// here, as the libraries' manuals have them.
#include "peers.h"

#include <dlfcn.h>
#include <stdio.h>

namespace {

void *open(const char *const *names) {
  for (; *names != nullptr; ++names) {
    if (void *library = dlopen(*names, RTLD_NOW | RTLD_GLOBAL)) return library;
  }
  return nullptr;
}

template <class Function>
bool find(void *library, const char *name, Function &function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

struct Blas {
  void *handle = nullptr;
  int (*create)(void **);
  int (*set_stream)(void *, cudaStream_t);
  int (*set_math)(void *, int);
  int (*sgemm)(void *, int, int, int, int, int, const float *, const float *, int, const float *, int, const float *, float *, int);
  int (*sgemv)(void *, int, int, int, const float *, const float *, int, const float *, int, const float *, float *, int);
};

Blas *blas() {
  static Blas it;
  static const char *const NAMES[] = {"libcublas.so.13", "libcublas.so.12", "libcublas.so.11", "libcublas.so", nullptr};
  static bool found = [] {
    void *library = open(NAMES);
    if (library == nullptr) return false;
    return find(library, "cublasCreate_v2", it.create) && find(library, "cublasSetStream_v2", it.set_stream) &&
           find(library, "cublasSetMathMode", it.set_math) && find(library, "cublasSgemm_v2", it.sgemm) &&
           find(library, "cublasSgemv_v2", it.sgemv) && it.create(&it.handle) == 0;
  }();
  return found ? &it : nullptr;
}

struct Sparse {
  void *handle = nullptr;
  int (*create)(void **);
  int (*set_stream)(void *, cudaStream_t);
  int (*create_csr)(void **, int64_t, int64_t, int64_t, void *, void *, void *, int, int, int, int);
  int (*create_vector)(void **, int64_t, void *, int);
  int (*destroy_matrix)(void *);
  int (*destroy_vector)(void *);
  int (*buffer_size)(void *, int, const void *, void *, void *, const void *, void *, int, int, size_t *);
  int (*multiply)(void *, int, const void *, void *, void *, const void *, void *, int, int, void *);
  // Of the matrix that was prepared.
  void *matrix = nullptr, *x = nullptr, *y = nullptr, *buffer = nullptr;
};

Sparse *sparse() {
  static Sparse it;
  static const char *const NAMES[] = {"libcusparse.so.12", "libcusparse.so.13", "libcusparse.so.11", "libcusparse.so", nullptr};
  static bool found = [] {
    void *library = open(NAMES);
    if (library == nullptr) return false;
    return find(library, "cusparseCreate", it.create) && find(library, "cusparseSetStream", it.set_stream) &&
           find(library, "cusparseCreateCsr", it.create_csr) && find(library, "cusparseCreateDnVec", it.create_vector) &&
           find(library, "cusparseDestroySpMat", it.destroy_matrix) && find(library, "cusparseDestroyDnVec", it.destroy_vector) &&
           find(library, "cusparseSpMV_bufferSize", it.buffer_size) && find(library, "cusparseSpMV", it.multiply) &&
           it.create(&it.handle) == 0;
  }();
  return found ? &it : nullptr;
}

const int NONE = 0, MISSING = -1;                                  // CUBLAS_OP_N, CUSPARSE_OPERATION_NON_TRANSPOSE
const int INDEX_32I = 2, BASE_ZERO = 0, CUDA_R_64F_ = 1, DEFAULT = 0;  // CUSPARSE_INDEX_32I, …, CUSPARSE_SPMV_ALG_DEFAULT
const int TRANSPOSED = 1;

// What libraries say, apart from CUDA's errors.
int library_error(int status) { return status == 0 ? 0 : 10000 + status; }

}  // namespace

extern "C" {

int peer_has_blas(cudaStream_t) { return blas() != nullptr ? 0 : MISSING; }
int peer_has_sparse(cudaStream_t) { return sparse() != nullptr ? 0 : MISSING; }

// C = alpha A B + beta C, row-major; `mode` is cuBLAS's: 0 as it comes (no TF32), 2 pedantic.
int peer_blas_sgemm(cudaStream_t stream, int32_t mode, int64_t m, int64_t n, int64_t k, float alpha, address a, address b,
                    float beta, address c) {
  Blas *it = blas();
  if (it == nullptr) return MISSING;
  int status = it->set_stream(it->handle, stream);
  if (status == 0) status = it->set_math(it->handle, mode);
  // Column-major, that is the product of the transposed: C' = B' A'.
  if (status == 0) {
    status = it->sgemm(it->handle, NONE, NONE, (int)n, (int)m, (int)k, &alpha, at<float>(b), (int)n, at<float>(a), (int)k, &beta,
                       at<float>(c), (int)n);
  }
  return library_error(status);
}

// Sums of rows (or columns) of a row-major matrix, as its product with ones.
int peer_blas_sums(cudaStream_t stream, int32_t of_columns, int64_t rows, int64_t columns, address a, address ones, address y) {
  Blas *it = blas();
  if (it == nullptr) return MISSING;
  const float one = 1, zero = 0;
  int status = it->set_stream(it->handle, stream);
  if (status == 0) {
    status = it->sgemv(it->handle, of_columns ? NONE : TRANSPOSED, (int)columns, (int)rows, &one, at<float>(a), (int)columns,
                       at<float>(ones), 1, &zero, at<float>(y), 1);
  }
  return library_error(status);
}

// Takes over a matrix for `peer_sparse_multiply`: what does not count as work.
int peer_sparse_prepare(cudaStream_t stream, int64_t rows, int64_t columns, int64_t nonzeros, address rowptr, address col,
                        address val, address x, address y) {
  Sparse *it = sparse();
  if (it == nullptr) return MISSING;
  cudaDeviceSynchronize();
  if (it->matrix != nullptr) {
    it->destroy_matrix(it->matrix);
    it->destroy_vector(it->x);
    it->destroy_vector(it->y);
    cudaFree(it->buffer);
    it->matrix = it->x = it->y = it->buffer = nullptr;
  }
  const double one = 1, zero = 0;
  size_t bytes = 0;
  int status = it->set_stream(it->handle, stream);
  if (status == 0) {
    status = it->create_csr(&it->matrix, rows, columns, nonzeros, at<void>(rowptr), at<void>(col), at<void>(val), INDEX_32I,
                            INDEX_32I, BASE_ZERO, CUDA_R_64F_);
  }
  if (status == 0) status = it->create_vector(&it->x, columns, at<void>(x), CUDA_R_64F_);
  if (status == 0) status = it->create_vector(&it->y, rows, at<void>(y), CUDA_R_64F_);
  if (status == 0) {
    status = it->buffer_size(it->handle, NONE, &one, it->matrix, it->x, &zero, it->y, CUDA_R_64F_, DEFAULT, &bytes);
  }
  if (status != 0) return library_error(status);
  return cudaMalloc(&it->buffer, bytes == 0 ? 1 : bytes);
}

int peer_sparse_multiply(cudaStream_t) {
  Sparse *it = sparse();
  if (it == nullptr || it->matrix == nullptr) return MISSING;
  const double one = 1, zero = 0;
  return library_error(
      it->multiply(it->handle, NONE, &one, it->matrix, it->x, &zero, it->y, CUDA_R_64F_, DEFAULT, it->buffer));
}

}  // extern "C"
